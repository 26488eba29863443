// Lowering of TfIdfVectorizer on integers.
#include <algorithm>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// The n-grams of one length.
struct Pool {
  std::int64_t length = 1;
  Integers words;          ///< of each n-gram, concatenated
  std::int64_t first = 0;  ///< number of n-grams in pools of shorter ones
  [[nodiscard]] std::int64_t grams() const { return static_cast<std::int64_t>(words.size()) / length; }
};

std::vector<Pool> pools(const Integers& words, const Integers& begins) {
  std::vector<Pool> pools;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto size = static_cast<std::int64_t>(words.size());
    const std::int64_t from = std::clamp<std::int64_t>(begins[i], 0, size);
    const std::int64_t to = i + 1 < begins.size() ? std::clamp<std::int64_t>(begins[i + 1], from, size) : size;
    pools.push_back({static_cast<std::int64_t>(i) + 1, Integers(words.begin() + from, words.begin() + to), first});
    first += pools.back().grams();
  }
  return pools;
}

/// The number of occurrences of each n-gram of a pool in each row of `x`, with up to `most_skipped` words skipped between two words of it.
Part occurrences(Call& c, const Part& x, const Pool& pool, std::int64_t most_skipped) {
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1], grams = pool.grams();
  Part counts;
  for (std::int64_t skipped = 0; skipped <= (pool.length == 1 ? 0 : most_skipped); ++skipped) {
    const std::int64_t places = columns - (pool.length - 1) * (skipped + 1);
    if (places <= 0) break;
    Part all;
    for (std::int64_t k = 0; k < pool.length; ++k) {
      Integers words;
      for (std::int64_t g = 0; g < grams; ++g) words.push_back(pool.words[static_cast<std::size_t>(g * pool.length + k)]);
      const std::int64_t from = k * (skipped + 1);
      const Part here = c.reshape(piece(c, x, 1, from, from + places), {rows, 1, places});
      const Part same = c(op::equal, {here, c.reshape(c.integers_constant(words), {grams, 1})});
      all = k == 0 ? same : c(op::logical_and, {all, same});
    }
    const Part found = c(op::sum, {all}, {{"axis", Integers{2}}});
    counts = skipped == 0 ? found : c.add(counts, found);
  }
  if (!counts.operand().poisoned()) return c.as(DType::f32, counts);
  return c(op::zeros, std::initializer_list<Part>{}, {{"shape", Shape{rows, grams}}});
}

Values tf_idf(Call& c) {
  const auto words = c.integers("pool_int64s");
  const Integers begins = c.integers("ngram_counts").value_or(Integers{}), places = c.integers("ngram_indexes").value_or(Integers{});
  const std::int64_t shortest = c.integer("min_gram_length", 1), longest = c.integer("max_gram_length", 1),
                     skipped = c.integer("max_skip_count", 0);
  const std::string mode = c.text("mode", "TF");
  const std::vector<double> weights = c.numbers("weights").value_or(std::vector<double>(places.size(), 1));
  if (!words) return c.unsupported("of text");
  const std::vector<Pool> all = pools(*words, begins);
  std::int64_t grams = 0;
  for (const Pool& pool : all) grams += pool.grams();
  if (c[0].rank() < 1 || c[0].rank() > 2 || static_cast<std::int64_t>(places.size()) != grams || weights.size() != places.size())
    return c.mistake(DiagnosticKind::shape, "`TfIdfVectorizer` takes a vector or rows of words, and one place and weight for each n-gram");
  const bool vector = c[0].rank() == 1;
  const Part x = c.as(DType::i64, vector ? c.reshape(c[0], {1, c[0].shape()[0]}) : c[0]);
  constexpr std::int64_t kMostColumns = 1 << 30;
  if (std::any_of(places.begin(), places.end(), [](std::int64_t place) { return place < 0 || place >= kMostColumns; }))
    return c.mistake(DiagnosticKind::value, "`TfIdfVectorizer`: an n-gram has no place in the result");
  const std::int64_t width = places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1;
  Part result = c(op::zeros, std::initializer_list<Part>{}, {{"shape", Shape{x.shape()[0], width}}});
  for (const Pool& pool : all) {
    if (pool.length < shortest || pool.length > longest || pool.words.empty()) continue;
    const auto mine = [&](const auto& list) { return std::vector(list.begin() + pool.first, list.begin() + pool.first + pool.grams()); };
    Part counts = occurrences(c, x, pool, skipped);
    const std::vector<double> chosen = mine(weights);
    const std::vector<float> factors(chosen.begin(), chosen.end());
    if (mode == "IDF") counts = c.as(DType::f32, c(op::greater, {counts, 0}));
    if (mode != "TF") counts = c.multiply(counts, c.constant(Array::of<float>({pool.grams()}, std::span<const float>(factors))));
    const Part columns = c(op::broadcast_to, {c.integers_constant(mine(places))}, {{"shape", counts.shape()}});
    result = c(op::scatter, {result, columns, counts}, {{"axis", std::int64_t{1}}});
  }
  return {vector ? c.reshape(result, {width}) : result};
}

}  // namespace

std::span<const Lowering> text_lowerings() {
  static constexpr Lowering kRows[] = {
      {"TfIdfVectorizer", 9, tf_idf},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
