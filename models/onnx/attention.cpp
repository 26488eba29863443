// Lowerings of Attention and FlexAttention: one operation of the vocabulary, unless the node requires something between its two products.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/onnx/heads.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Attention ---------------------------------------------------------------------------------------------------------------------------

/// Which keys each query may attend to.
struct Sight {
  bool causal = false;  ///< no key behind the query's own position; as the vocabulary defines it, the last query is at the last key
  Part mask;            ///< boolean, or added to the scores; poison: no mask
  [[nodiscard]] bool masked() const { return !mask.operand().poisoned(); }
};

/// The node's mask, padded to the number of keys: keys beyond it are masked out.
Part given_mask(Call& c, const Heads& of) {
  if (!c.has(3)) return {};
  Part mask = c[3].dtype() == DType::boolean ? c[3] : c.as(of.query.dtype(), c[3]);
  Shape shape = mask.shape();
  const std::int64_t missing = shape.empty() ? 0 : of.keys() - shape.back();
  if (missing <= 0 || shape.back() == 1) return mask;
  shape.back() = missing;
  const bool boolean = mask.dtype() == DType::boolean;
  const Part rest = c(op::broadcast_to, {boolean ? c.scalar(false) : c.number_as(mask.dtype(), -kInfinity)}, {{"shape", shape}});
  return c(op::concat, {mask, rest}, {{"axis", static_cast<std::int64_t>(shape.size()) - 1}});
}

/// The mask by position: the position of a query is its index plus `offset`, the number of cached keys in front of it.
Part visible(Call& c, const Heads& of, const Part& offset, std::optional<std::int64_t> left, std::optional<std::int64_t> right) {
  Part seen;
  const auto also = [&](const Part& condition) { seen = seen.operand().poisoned() ? condition : c(op::logical_and, {seen, condition}); };
  const auto numbers = [&](std::int64_t count) { return c(op::arange, {}, {{"start", std::int64_t{0}}, {"stop", count}}); };
  const Part keys = numbers(of.keys());
  if (left || right) {
    const Part places = c.add(c(op::expand_dims, {numbers(of.queries())}, {{"axis", std::int64_t{1}}}), offset);
    if (right) also(c(op::less_equal, {keys, *right == 0 ? places : c.add(places, *right)}));
    if (left) also(c(op::greater_equal, {keys, c.subtract(places, *left)}));
  }
  if (c.has(6)) also(c(op::less, {keys, c.reshape(c.as(DType::i32, c[6]), {-1, 1, 1, 1})}));
  return seen;
}

Sight sight(Call& c, const Heads& of, bool whole) {
  Sight sight{false, given_mask(c, of)};
  const std::int64_t past = c.has(4) ? c[4].shape()[2] : 0;
  const auto bound = [&](const char* name) {
    const std::int64_t size = c.integer(name, -1);
    return size < 0 ? std::nullopt : std::optional(size);
  };
  const std::optional<std::int64_t> left = bound("left_window_size");
  std::optional<std::int64_t> right = bound("right_window_size");
  if (c.flag("is_causal")) right = 0;
  if (whole && right == 0 && !left && !c.has(6) && of.keys() - of.queries() == past) {
    sight.causal = true;
    return sight;
  }
  const Part offset = c.has(6) ? c.subtract(c.reshape(c.as(DType::i32, c[6]), {-1, 1, 1, 1}), of.queries()) : Part(past);
  const Part seen = visible(c, of, offset, left, right);
  if (seen.operand().poisoned()) return sight;
  if (!sight.masked())
    sight.mask = seen;
  else if (sight.mask.dtype() == DType::boolean)
    sight.mask = c(op::logical_and, {sight.mask, seen});
  else
    sight.mask = c(op::where, {seen, sight.mask, c.number_as(sight.mask.dtype(), -kInfinity)});
  return sight;
}

/// Attention as separate operations, for nodes with a softcap or with intermediate scores (`inner`) as a result. Queries without a visible
/// key give zeros.
Part attend_in_parts(Call& c, const Heads& of, const Part& mask, double scale, Part& inner) {
  const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
  const double cap = c.number("softcap", 0);
  const DType dtype = of.query.dtype();
  Part scores = scores_of(c, of, scale);
  inner = scores;
  if (cap > 0) scores = c.multiply(c(op::tanh, {c.multiply(scores, 1 / cap)}), cap);
  if (mode == 1) inner = scores;
  Part blind;
  const Attributes last{{"axis", Integers{-1}}, {"keepdims", true}};
  if (!mask.operand().poisoned() && mask.dtype() == DType::boolean) {
    scores = c(op::where, {mask, scores, c.number_as(dtype, -kInfinity)});
    blind = c(op::logical_not, {c(op::any, {mask}, last)});
  } else if (!mask.operand().poisoned()) {
    scores = c.add(scores, mask);
    blind = c(op::all, {c(op::equal, {mask, c.number_as(dtype, -kInfinity)})}, last);
  }
  if (mode == 2) inner = scores;
  const DType precise = promote(dtype, c.dtype("softmax_precision").value_or(dtype));
  Part weights = c.as(dtype, c(op::softmax, {c.as(precise, scores)}));
  if (!blind.operand().poisoned()) weights = c(op::where, {blind, c.number_as(dtype, 0), weights});
  if (mode == 3) inner = weights;
  return weighted_values(c, of, weights);
}

Values attention(Call& c) {
  const std::optional<Heads> split = split_heads(c, c[0], c[1], c[2], "q_num_heads", "kv_num_heads");
  c.ignore({"q_num_heads", "kv_num_heads", "softmax_precision", "qk_matmul_output_mode"});
  if (!split) return c.poison();
  Heads of{split->query, split->key, c.as(c[0].dtype(), split->value)};
  Value present_key = of.key, present_value = split->value;
  if (c.has(4) != c.has(5)) return c.mistake(DiagnosticKind::type, "`Attention` takes past keys and past values together");
  if (c.has(4)) {
    of.key = c(op::concat, {c[4], of.key}, {{"axis", std::int64_t{2}}});
    of.value = c(op::concat, {c.as(of.value.dtype(), c[5]), of.value}, {{"axis", std::int64_t{2}}});
    present_key = of.key, present_value = c.as(c[2].dtype(), of.value);
  }
  if (!heads_fit(c, of)) return c.poison();
  const double scale = c.number("scale", of.usual_scale());
  const bool whole = c.number("softcap", 0) <= 0 && !c.wants(3);
  const Sight seen = sight(c, of, whole);
  Part result, inner;
  if (whole) {
    Parts operands{of.query, of.key, of.value};
    if (seen.masked()) operands.push_back(seen.mask);
    result = c(op::attention, operands, {{"causal", seen.causal}, {"scale", scale}});
  } else {
    result = attend_in_parts(c, of, seen.mask, scale, inner);
  }
  if (c[0].rank() == 3) result = joined_heads(c, result);
  return {result, present_key, present_value, inner};
}

// --- FlexAttention -----------------------------------------------------------------------------------------------------------------------

/// The result of a subgraph of the node for one value; it must have the same type.
std::optional<Part> modified(Call& c, const Part& x, std::string_view graph) {
  const Values results = c.inline_graph(graph, {Value(x)});
  if (results.size() == 1 && results[0].part.type() == x.type()) return results[0].part;
  if (results.empty() || !results[0].poisoned())
    c.mistake(DiagnosticKind::type, "`FlexAttention`: a graph inside of it does not give one value of " + to_string(x.type()));
  return std::nullopt;
}

Values flex_attention(Call& c) {
  const Heads of{c[0], c[1], c[2]};
  if (!heads_fit(c, of)) return c.poison();
  const DType dtype = of.query.dtype();
  const double scale = c.number("scale", of.usual_scale());
  const DType precise = promote(dtype, c.has_attribute("softmax_precision") ? c.dtype("softmax_precision").value_or(dtype) : DType::f32);
  const auto on_scores = c.graph("score_mod"), on_weights = c.graph("prob_mod");
  if (!on_scores && !on_weights) return {c(op::attention, {of.query, of.key, of.value}, {{"scale", scale}})};
  std::optional<Part> x = c.as(precise, scores_of(c, of, scale));
  if (on_scores) x = modified(c, *x, *on_scores);
  if (x) x = c(op::softmax, {*x});
  if (x && on_weights) x = modified(c, *x, *on_weights);
  if (!x) return c.poison();
  return {c.as(dtype, weighted_values(c, {of.query, of.key, c.as(precise, of.value)}, *x))};
}

}  // namespace

std::span<const Lowering> attention_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Attention", 23, attention},
      {"ai.onnx.preview.FlexAttention", 1, flex_attention},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
