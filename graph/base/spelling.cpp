// nearest_name: finds the nearest name to a misspelled one, by edit distance with transpositions of neighbors.
#include "graph/base/spelling.h"

#include <algorithm>
#include <numeric>

namespace cleave {
namespace {

/// Longer words are not compared: they are unlikely to be misspelled names, and comparison would be slow.
constexpr std::size_t kLongest = 128;
constexpr std::size_t kMostListed = 6;
constexpr std::size_t kShort = 3;

/// Optimal string alignment distance: insertions, deletions, substitutions, and swaps of neighbors. In words of at most three letters
/// another letter counts as two edits, but not another digit: `foo` is not a misspelled `for`, and `f33` is a misspelled `f32`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const bool both_short = std::max(a.size(), b.size()) <= kShort;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = both_short && !(is_digit(a[i - 1]) && is_digit(b[j - 1])) ? 2 : 1;
      std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : other);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Whether one word has the letters of the other in another order.
bool are_anagrams(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

/// How many edits still make a suggestion: about a third of the longer word.
std::size_t most_edits(std::size_t a, std::size_t b) {
  const std::size_t longer = std::max(a, b);
  if (longer <= 1) return 0;
  return std::max<std::size_t>(longer - std::min(a, b) <= 1 ? longer / 3 : (longer + 2) / 3, 1);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > most_edits(word.size(), candidate.size()) || (best && distance > best_distance)) continue;
    // Between two names at the same distance, the one with the same letters wins: `tahn` is a misspelled `tanh`, not `tan` and a letter.
    if (best && distance == best_distance && (are_anagrams(word, *best) || !are_anagrams(word, candidate))) continue;
    best = &candidate;
    best_distance = distance;
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = nearest_name(word, candidates);
  return near ? "; did you mean `" + *near + "`?" : "";
}

std::string did_you_mean_or_has(std::string_view word, const std::vector<std::string>& candidates) {
  std::string text = did_you_mean(word, candidates);
  if (!text.empty() || candidates.empty() || candidates.size() > kMostListed) return text;
  text = "; it has";
  for (const std::string& name : candidates) text += (&name == &candidates.front() ? " `" : ", `") + name + "`";
  return text;
}

}  // namespace cleave
