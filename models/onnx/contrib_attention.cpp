// Lowerings of ONNX Runtime's Attention and MultiHeadAttention, which hide keys by numbers that they add to the scores, and of its
// RotaryEmbedding.
#include "models/onnx/contrib_attention.h"

#include <limits>

#include "models/onnx/caches.h"
#include "models/onnx/heads.h"
#include "models/onnx/pieces.h"
#include "models/onnx/rotary.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- masks -------------------------------------------------------------------------------------------------------------------------------

/// A mask or a bias with zeros for the keys of a cache behind those that it is for.
Part with_all_keys(Call& c, const Part& x, std::int64_t keys) {
  const std::int64_t missing = x.rank() < 2 ? 0 : keys - x.shape().back();
  if (missing <= 0) return x;
  std::vector<std::int64_t> widths(2 * x.shape().size(), 0);
  widths.back() = missing;
  return c(op::pad, {x}, {{"widths", std::move(widths)}});
}

/// What a node's mask hides, by its rank: 1: keys behind the length of each sample's sequence, and, of twice as many numbers, those in
/// front of its start; 2 and 3: keys where it is 0 or less. Bool, [batch, 1, queries or 1, keys]; poison: no mask. Nothing after a mistake.
std::optional<Part> shown_keys(Call& c, std::size_t i, const Heads& of, bool with_starts, bool padded) {
  if (!c.has(i)) return Part();
  const Part mask = padded ? with_all_keys(c, c[i], of.keys()) : c[i];
  const Shape shape = mask.shape();
  const std::int64_t batch = of.query.shape()[0], keys = of.keys(), queries = of.queries();
  if (shape == Shape{batch} || (with_starts && shape == Shape{2 * batch})) {
    const Part places = numbers_below(c, keys);
    const auto column = [&](std::int64_t from) { return c.reshape(piece(c, mask, 0, from, from + batch), {batch, 1, 1, 1}); };
    const Part before_end = c(op::less, {places, column(0)});
    if (shape[0] == batch) return before_end;
    return c(op::logical_and, {before_end, c(op::greater_equal, {places, column(batch)})});
  }
  if (shape == Shape{batch, keys}) return c(op::greater, {c.reshape(mask, {batch, 1, 1, keys}), 0});
  if (shape == Shape{batch, queries, keys}) return c(op::greater, {c.reshape(mask, {batch, 1, queries, keys}), 0});
  c.mistake(DiagnosticKind::unsupported, "`" + std::string(c.op()) + "` with a mask " + to_string(c[i].type()) + " for " +
                                             std::to_string(batch) + " samples of " + std::to_string(queries) + " queries and " +
                                             std::to_string(keys) + " keys is not supported");
  return std::nullopt;
}

/// What is added to the scores: 0 or `mask_filter_value` by the mask, and the node's own bias. Poison: nothing. `padded`: both may be for
/// fewer keys than a cache has.
std::optional<Part> added_scores(Call& c, std::size_t mask, std::size_t bias, const Heads& of, bool with_starts, bool padded) {
  const double filter = c.number("mask_filter_value", -10000);
  const std::optional<Part> shown = shown_keys(c, mask, of, with_starts, padded);
  if (!shown) return std::nullopt;
  const DType dtype = of.query.dtype();
  Part added;
  if (c.has(bias)) {
    added = padded ? with_all_keys(c, c[bias], of.keys()) : c[bias];
    const Shape scores{of.query.shape()[0], of.query.shape()[1], of.queries(), of.keys()};
    if (added.rank() != 4 || broadcast(added.shape(), scores) != scores) {
      c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: the attention bias " + to_string(c[bias].type()) +
                                           " does not broadcast to the scores " + to_string(TensorType{dtype, scores}));
      return std::nullopt;
    }
  }
  if (shown->operand().poisoned()) return added;
  const Part padding = c(op::where, {*shown, c.number_as(dtype, 0), c.number_as(dtype, filter)});
  return c.has(bias) ? c.add(padding, added) : padding;
}

/// The rules of a node whose queries are `past` positions behind its first key.
ScoreRules rules_of(Call& c, const Heads& of, const Part& added, std::int64_t past) {
  ScoreRules rules;
  rules.scale = given_scale(c, of);
  rules.bias = added;
  if (!c.flag("unidirectional")) return rules;
  if (of.keys() - of.queries() == past) {
    rules.causal = true;
  } else {
    const Part rows = c(op::expand_dims, {numbers_below(c, of.queries())}, {{"axis", std::int64_t{1}}});
    rules.visible = c(op::less_equal, {numbers_below(c, of.keys()), c.add(rows, past)});
  }
  return rules;
}

// --- Attention ---------------------------------------------------------------------------------------------------------------------------

/// The extents of queries, keys and values in the product with the weights; nothing after a mistake.
std::optional<Integers> hidden_sizes(Call& c, std::int64_t heads) {
  const Shape weights = c[1].shape();
  auto sizes = c.integers("qkv_hidden_sizes");
  const bool known = weights.size() == 2 && heads >= 1;
  if (known && (!sizes || sizes->empty()) && weights[1] % 3 == 0) sizes = Integers(3, weights[1] / 3);
  bool good = known && sizes && sizes->size() == 3;
  for (std::size_t i = 0; good && i < 3; ++i) good = (*sizes)[i] >= 1 && (*sizes)[i] <= weights[1] && (*sizes)[i] % heads == 0;
  if (good && (*sizes)[0] == (*sizes)[1] && (*sizes)[0] + (*sizes)[1] + (*sizes)[2] == weights[1]) return sizes;
  c.mistake(DiagnosticKind::value, "`Attention`: weights " + to_string(c[1].type()) +
                                       " do not divide into queries, keys and values of `num_heads` heads by `qkv_hidden_sizes`");
  return std::nullopt;
}

Values attention_of_input(Call& c) {
  if (c.flag("do_rotary")) return c.unsupported("with `do_rotary`");
  if (c.flag("past_present_share_buffer")) return c.unsupported("with `past_present_share_buffer`");
  c.ignore({"rotary_embedding_dim"});
  const std::optional<Integers> sizes = hidden_sizes(c, c.integer("num_heads", 0));
  if (!sizes) return c.poison();
  if (c[0].rank() != 3) return c.mistake(DiagnosticKind::shape, "`Attention` takes an input of 3 axes, not " + to_string(c[0].type()));
  Part product = c(op::matmul, {c[0], c[1]});
  if (c.has(2)) product = c.add(product, c[2]);
  return projected_attention(c, product, *sizes, {.mask = 3, .past = 4, .bias = 5});
}

}  // namespace

Values projected_attention(Call& c, const Part& product, const std::vector<std::int64_t>& sizes, const ProjectedOperands& operands) {
  std::int64_t from = 0;
  Parts split;
  for (const std::int64_t size : sizes) {
    const std::optional<Part> one = split_heads(c, piece(c, product, 2, from, from + size), "num_heads");
    if (!one) return c.poison();
    split.push_back(*one);
    from += size;
  }
  Heads of{split[0], split[1], split[2]};
  std::int64_t past = 0;
  if (c.has(operands.past)) {
    const Part& cache = c[operands.past];
    if (cache.rank() != 5 || cache.shape()[0] != 2)
      return c.mistake(
          DiagnosticKind::shape,
          "`" + std::string(c.op()) + "` takes past keys and values [2, batch, heads, length, size], not " + to_string(cache.type()));
    past = cache.shape()[3];
    of.key = c(op::concat, {element(c, cache, 0, 0), of.key}, {{"axis", std::int64_t{2}}});
    of.value = c(op::concat, {element(c, cache, 0, 1), of.value}, {{"axis", std::int64_t{2}}});
  }
  if (of.key.operand().poisoned() || of.value.operand().poisoned() || !heads_fit(c, of)) return c.poison();
  const std::optional<Part> added = added_scores(c, operands.mask, operands.bias, of, true, false);
  if (!added) return c.poison();
  Values results{joined_heads(c, attended(c, of, rules_of(c, of, *added, past)).result)};
  if (c.wants(1)) results.emplace_back(c(op::stack, {of.key, of.value}, {{"axis", std::int64_t{0}}}));
  return results;
}

namespace {

// --- MultiHeadAttention ------------------------------------------------------------------------------------------------------------------

/// The numbers of the operands behind queries, keys and values.
struct OperandNumbers {
  std::size_t bias, mask, added, past_key, past_value, past_length, beams;
};
constexpr OperandNumbers kMultiHead{3, 4, 5, 6, 7, 8, 9}, kDecoder{10, 3, 4, 5, 6, 7, 9};

/// Part `i` of values packed as [batch, length, heads, parts, size], as [batch, heads, length, size].
Part unpacked(Call& c, const Part& packed, std::int64_t i) {
  return permuted(c, element(c, packed, 3, i), {0, 2, 1, 3});
}

/// `x`, [batch, heads, length, size], plus its elements of the bias of queries, keys and values, which begin at `from`.
Part with_bias(Call& c, const Part& x, const Part& bias, std::int64_t from) {
  const Shape shape = x.shape();
  const std::int64_t size = shape[1] * shape[3];
  return c.add(x, c.reshape(piece(c, bias, 0, from, from + size), {shape[1], 1, shape[3]}));
}

/// The queries, keys and values of a node, of which several may be in one operand; nothing after a mistake.
std::optional<Heads> unpacked_heads(Call& c, std::size_t bias) {
  const int rank = c[0].rank();
  Heads of;
  if (rank == 5) {
    if (c[0].shape()[3] != 3 || c.has(1) || c.has(2)) {
      c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` of " + to_string(c[0].type()) +
                                           " takes no other keys and values: queries with these are [batch, length, heads, 3, size]");
      return std::nullopt;
    }
    of = {unpacked(c, c[0], 0), unpacked(c, c[0], 1), unpacked(c, c[0], 2)};
  } else {
    const bool packed = c.has(1) && c[1].rank() == 5 && c[1].shape()[3] == 2 && !c.has(2);
    const Part key = packed ? unpacked(c, c[1], 0) : c[1], value = packed ? unpacked(c, c[1], 1) : c[2];
    const std::optional<Heads> split = split_heads(c, c[0], key, value, "num_heads", "num_heads");
    if (!split) return std::nullopt;
    of = *split;
  }
  if (!heads_fit(c, of)) return std::nullopt;
  if (!c.has(bias)) return of;
  const std::int64_t size = of.query.shape()[1] * of.query.shape()[3], value_size = of.value.shape()[1] * of.value.shape()[3];
  if (c[bias].shape() != Shape{2 * size + value_size}) {
    c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: the bias " + to_string(c[bias].type()) + " has not the " +
                                         std::to_string(2 * size + value_size) + " elements of queries, keys and values");
    return std::nullopt;
  }
  of.query = with_bias(c, of.query, c[bias], 0);
  if (rank != 3 || !c.has(1) || c[1].rank() == 3) {  // packed keys and values have no bias
    of.key = with_bias(c, of.key, c[bias], size);
    of.value = with_bias(c, of.value, c[bias], 2 * size);
  }
  return of;
}

/// Keys and values behind those of earlier runs. With a past length, the cache has room for more, and so many of its keys are valid.
struct PastKeys {
  Heads all;
  std::int64_t length = 0;
  Part visible;  ///< poison: all keys are
};

PastKeys with_past(Call& c, const Heads& of, const OperandNumbers& at) {
  if (!c.has(at.past_key) || c[at.past_key].shape()[2] == 0) return {of, 0, {}};
  const Part &past_key = c[at.past_key], &past_value = c[at.past_value];
  if (!c.has(at.past_length)) {
    const Attributes behind{{"axis", std::int64_t{2}}};
    return {{of.query, c(op::concat, {past_key, of.key}, behind), c(op::concat, {past_value, of.value}, behind)}, past_key.shape()[2], {}};
  }
  const Part start = c.reshape(c.as(DType::i32, c[at.past_length]), {1});
  const Part starts = c(op::broadcast_to, {start}, {{"shape", Shape{of.query.shape()[0]}}});
  PastKeys past{{of.query, written_at(c, past_key, of.key, starts, 2), written_at(c, past_value, of.value, starts, 2)}, 0, {}};
  if (past.all.key.operand().poisoned()) return past;
  const Part places = numbers_below(c, past.all.keys());
  Part last = c.add(start, of.keys() - 1);
  if (c.flag("unidirectional")) last = c.add(c.reshape(numbers_below(c, of.queries()), {of.queries(), 1}), start);
  past.visible = c(op::less_equal, {places, last});
  return past;
}

Values attention_of_heads(Call& c, const OperandNumbers& at) {
  c.ignore({"num_heads"});
  if (c.has(at.beams)) return c.unsupported("with beams of a cache (`cache_indirection`)");
  if (c.wants(3)) return c.unsupported("with the scores as a result");
  if (c.has(at.past_key) != c.has(at.past_value))
    return c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "` takes past keys and past values together");
  for (const std::size_t i : {at.past_key, at.past_value})
    if (c.has(i) && c[i].rank() != 4)
      return c.mistake(DiagnosticKind::shape,
                       "`" + std::string(c.op()) + "` takes past keys and values of 4 axes, not " + to_string(c[i].type()));
  const std::optional<Heads> own = unpacked_heads(c, at.bias);
  if (!own) return c.poison();
  const PastKeys past = with_past(c, *own, at);
  if (!heads_fit(c, past.all)) return c.poison();
  const bool shared = !past.visible.operand().poisoned();
  const std::optional<Part> added = added_scores(c, at.mask, at.added, past.all, false, shared);
  if (!added) return c.poison();
  ScoreRules rules;
  if (shared) {
    rules.scale = given_scale(c, past.all);
    rules.bias = *added;
    rules.visible = past.visible;
  } else {
    rules = rules_of(c, past.all, *added, past.length);
  }
  return {joined_heads(c, attended(c, past.all, rules).result), past.all.key, past.all.value};
}

Values multi_head_attention(Call& c) {
  return attention_of_heads(c, kMultiHead);
}

/// One query of each sample, to keys of the same node or of another sequence.
Values decoder_attention(Call& c) {
  if (c.flag("output_qk")) return c.unsupported("with `output_qk`");
  const bool shared = c.flag("past_present_share_buffer");
  if (c.has(kDecoder.past_key) && (!shared || !c.has(kDecoder.past_length)))
    return c.unsupported("of past keys without `past_present_share_buffer` and their number");
  return attention_of_heads(c, kDecoder);
}

// --- RotaryEmbedding ---------------------------------------------------------------------------------------------------------------------

/// Operands in another order than ONNX's operator. One position is that of the first element of every sequence.
Values rotary_by_positions(Call& c) {
  c.ignore({"scale"});  // ONNX Runtime ignores it
  if (c.flag("is_packed_batching")) return c.unsupported("with `is_packed_batching`");
  const bool packed = c[0].rank() == 3, interleaved = c.flag("interleaved");
  const std::int64_t wanted = c.integer("rotary_embedding_dim", 0), heads_given = c.integer("num_heads", 0);
  const Shape shape = c[0].shape(), table = c[2].shape();
  if ((!packed && c[0].rank() != 4) || table.size() != 2)
    return c.mistake(DiagnosticKind::shape, "`RotaryEmbedding` of " + to_string(c[0].type()) + " by a table " + to_string(c[2].type()) +
                                                ": they have 3 or 4 axes, and 2");
  const std::int64_t size = !packed ? shape[3] : wanted > 0 && heads_given > 0 ? shape[2] / heads_given : 2 * table[1];
  if (size < 1 || shape.back() % size != 0 || (wanted > 0 && wanted != 2 * table[1]))
    return c.mistake(DiagnosticKind::value,
                     "`RotaryEmbedding` of " + to_string(c[0].type()) + " by a table " + to_string(c[2].type()) +
                         " needs `num_heads` that divides the last axis, and `rotary_embedding_dim` of the table's size");
  if (!tables_fit(c, size, c[2], c[3])) return c.poison();
  const std::int64_t batch = shape[0], length = shape[packed ? 1 : 2];
  const Shape positions = c[1].shape();
  const bool each = positions == Shape{batch, length};
  if (!each && c[1].type().elements() != 1)
    return c.mistake(DiagnosticKind::shape, "`RotaryEmbedding`: positions " + to_string(c[1].type()) +
                                                " are neither one nor one for each of " + to_string(Shape{batch, length}));
  const Part first = each ? c[1] : c.reshape(c[1], {1, 1});
  const Part places = each ? first : c.add(first, c.as(c[1].dtype(), numbers_below(c, length)));
  const auto angles = [&](std::size_t i) {
    return c(op::expand_dims, {c(op::take, {c[i], places}, {{"axis", std::int64_t{0}}})}, {{"axis", std::int64_t{packed ? 2 : 1}}});
  };
  const Part x = packed ? c.reshape(c[0], {batch, length, shape[2] / size, size}) : c[0];
  const Part cosine = angles(2), sine = angles(3);
  return {reshaped(c, rotated(c, x, cosine, sine, interleaved), shape)};
}

}  // namespace

std::span<const Lowering> contrib_attention_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.Attention", 1, attention_of_input},
      {"com.microsoft.DecoderMaskedMultiHeadAttention", 1, decoder_attention},
      {"com.microsoft.MultiHeadAttention", 1, multi_head_attention},
      {"com.microsoft.RotaryEmbedding", 1, rotary_by_positions},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
