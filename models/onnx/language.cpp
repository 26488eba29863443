// Lowerings of operators of language models around attention: rotary embeddings, caches of keys and values, and layers that carry a state
// along a sequence and replace attention.
#include <cmath>

#include "models/onnx/caches.h"
#include "models/onnx/pieces.h"
#include "models/onnx/rotary.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- RotaryEmbedding ---------------------------------------------------------------------------------------------------------------------

Values rotary_embedding(Call& c) {
  const Shape shape = c[0].shape();
  const bool packed = c[0].rank() == 3, interleaved = c.flag("interleaved");
  const std::int64_t heads = packed ? c.integer("num_heads", 0) : 1, wanted = c.integer("rotary_embedding_dim", 0);
  c.ignore({"num_heads"});
  if ((!packed && c[0].rank() != 4) || heads < 1 || shape.back() % heads != 0)
    return c.mistake(DiagnosticKind::shape,
                     "`RotaryEmbedding` of " + to_string(c[0].type()) + " needs 4 axes, or `num_heads` that divides the last of 3");
  const Part x = packed ? c.reshape(c[0], {shape[0], shape[1], heads, shape[2] / heads}) : c[0];
  const std::int64_t size = x.shape()[3], turns = wanted == 0 ? size : wanted;
  const auto angles = [&](std::size_t i) {
    const Part table = c.has(3) ? c(op::take, {c[i], c[3]}, {{"axis", std::int64_t{0}}}) : c[i];
    return c(op::expand_dims, {table}, {{"axis", std::int64_t{packed ? 2 : 1}}});
  };
  const Part cosine = angles(1), sine = angles(2);
  if (cosine.operand().poisoned() || sine.operand().poisoned()) return c.poison();
  if (turns > size || turns < 2 || turns % 2 != 0 || cosine.shape().back() != turns / 2 || sine.shape().back() != turns / 2)
    return c.mistake(DiagnosticKind::shape, "`RotaryEmbedding` turns " + std::to_string(turns) + " of " + std::to_string(size) +
                                                " elements, by tables " + to_string(c[1].type()) + " and " + to_string(c[2].type()));
  const Part result = rotated(c, x, cosine, sine, interleaved);
  return {reshaped(c, result, shape)};
}

// --- TensorScatter -----------------------------------------------------------------------------------------------------------------------

/// Writes into each sample of the cache at the sample's own position.
Values tensor_scatter(Call& c) {
  const Part &cache = c[0], &update = c[1];
  const std::string mode = c.text("mode", "linear");
  const std::optional<int> axis = c.axis(c.integer("axis", -2), cache.rank());
  if (!axis) return c.poison();
  if (*axis == 0) return c.mistake(DiagnosticKind::value, "`TensorScatter` along the axis of the batch");
  if (mode != "linear" && mode != "circular")
    return c.mistake(DiagnosticKind::value, "`TensorScatter`: `mode` is linear or circular, not " + mode);
  if (c.has(2)) return {written_at(c, cache, update, c[2], *axis, mode == "circular")};
  Parts operands{cache, update};
  operands.resize(2 + cache.shape().size(), Part(0));
  return {c(op::dynamic_update_slice, operands)};
}

// --- CausalConvWithState -----------------------------------------------------------------------------------------------------------------

/// A depthwise convolution over the sequence, preceded by the end of the previous call's input or by zeros.
Values causal_conv(Call& c) {
  const std::string activation = c.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return c.mistake(DiagnosticKind::value, "`CausalConvWithState`: `activation` is none, silu or swish, not " + activation);
  const Shape x = c[0].shape(), weight = c[1].shape();
  if (x.size() != 3 || weight.size() != 3 || weight[2] < 1)
    return c.mistake(DiagnosticKind::shape,
                     "`CausalConvWithState` of " + to_string(c[0].type()) + " and " + to_string(c[1].type()) + ": both have 3 axes");
  const std::int64_t before = weight[2] - 1;
  const bool kept = c.has(3) && before > 0;
  Part whole = kept ? c(op::concat, {c[3], c[0]}, {{"axis", std::int64_t{2}}}) : c[0];
  Parts operands{whole, c[1]};
  if (c.has(2)) operands.push_back(c[2]);
  Attributes attributes{{"group", x[1]}};
  if (!kept && before > 0) attributes.set("pads", Integers{before, 0});
  Part y = c(op::conv, operands, std::move(attributes));
  if (activation != "none") y = c.multiply(y, c(op::sigmoid, {y}));
  if (!kept && x[2] < before) whole = c(op::pad, {c[0]}, {{"widths", Integers{0, 0, 0, 0, before - x[2], 0}}});
  const std::int64_t length = whole.shape()[2];
  return {y, piece(c, whole, 2, length - before, length)};
}

// --- LinearAttention ---------------------------------------------------------------------------------------------------------------------

/// The operands of each step, with the steps as first axis: queries [t, batch, heads, group, d_k], keys [t, batch, heads, 1, d_k], values
/// [t, batch, heads, 1, d_v], factors of the state [t, batch, heads, d_k or 1, 1] and rates [t, batch, heads or 1, 1, 1].
struct Steps {
  Part queries, keys, values, factors, rates;
  [[nodiscard]] bool decays() const { return !factors.operand().poisoned(); }
  [[nodiscard]] bool corrects() const { return !rates.operand().poisoned(); }
};

Part steps_of(Call& c, const Part& x, std::int64_t heads, std::int64_t group, std::int64_t size) {
  const Shape shape = x.shape();
  return permuted(c, c.reshape(c.as(DType::f32, x), {shape[0], shape[1], heads, group, size}), {1, 0, 2, 3, 4});
}

/// The state [batch, heads, d_k, d_v] after a step, and the result of the step.
Parts linear_step(Call& c, const Steps& at, Part state) {
  if (at.decays()) state = c.multiply(state, at.factors);
  Part value = at.values;
  if (at.corrects()) value = c.multiply(at.rates, c.subtract(value, c(op::matmul, {at.keys, state})));
  state = c.add(state, c.multiply(c(op::transpose, {at.keys}), value));
  return {state, c(op::matmul, {at.queries, state})};
}

Steps at_step(Call& c, const Steps& all, const Part& number) {
  const auto one = [&](const Part& x) { return x.operand().poisoned() ? x : c(op::take, {x, number}, {{"axis", std::int64_t{0}}}); };
  return {one(all.queries), one(all.keys), one(all.values), one(all.factors), one(all.rates)};
}

std::optional<Steps> linear_steps(Call& c, std::int64_t heads, std::int64_t group, std::int64_t depth, std::int64_t width) {
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  if ((!gated && !delta && rule != "linear") || gated != c.has(4) || delta != c.has(5)) {
    c.mistake(DiagnosticKind::value, "`LinearAttention`: `update_rule` is linear, gated, delta or gated_delta, not " + rule +
                                         " with what is given: a decay is for gated ones, a rate for delta");
    return std::nullopt;
  }
  const double given = c.number("scale", 0), scale = given == 0 ? 1 / std::sqrt(static_cast<double>(depth)) : given;
  Steps steps;
  steps.queries = c.multiply(steps_of(c, c[0], heads, group, depth), scale);
  steps.keys = steps_of(c, c[1], heads, 1, depth);
  steps.values = steps_of(c, c[2], heads, 1, width);
  const auto column = [&](const Part& x, std::int64_t of, std::int64_t size) {
    const Shape shape = x.shape();
    return permuted(c, c.reshape(c.as(DType::f32, x), {shape[0], shape[1], of, size, 1}), {1, 0, 2, 3, 4});
  };
  if (gated) steps.factors = c(op::exp, {column(c[4], heads, c[4].shape().back() / heads)});
  if (delta) steps.rates = column(c[5], c[5].shape().back(), 1);
  return steps;
}

Values linear_attention(Call& c) {
  c.ignore({"chunk_size"});  // does not affect the result
  const std::int64_t query_heads = c.integer("q_num_heads", 0), heads = c.integer("kv_num_heads", 0);
  const Shape query = c[0].shape(), value = c[2].shape();
  if (heads < 1 || query_heads % heads != 0 || query.size() != 3 || value.size() != 3 || query[2] % query_heads != 0 ||
      value[2] % heads != 0)
    return c.mistake(DiagnosticKind::shape, "`LinearAttention` of " + to_string(c[0].type()) + " and " + to_string(c[2].type()) +
                                                " needs `q_num_heads` and `kv_num_heads` that divide their last axes");
  const std::int64_t batch = query[0], length = query[1], group = query_heads / heads;
  const std::int64_t depth = query[2] / query_heads, width = value[2] / heads;
  const std::optional<Steps> steps = linear_steps(c, heads, group, depth, width);
  if (!steps) return c.poison();
  const DType kept = c.has(3) ? c[3].dtype() : c[0].dtype();
  const auto zeros = [&](Shape shape) { return c(op::zeros, {}, {{"shape", std::move(shape)}}); };
  Part state = c.has(3) ? c.as(DType::f32, c[3]) : zeros({batch, heads, depth, width}), result;
  if (length == 1) {
    const Parts next = linear_step(c, at_step(c, *steps, Part(0)), state);
    state = next[0];
    result = next[1];
  } else {
    const Parts last =
        c.for_loop(Part(length), {state, zeros({length, batch, heads, group, width})}, [&](const Part& counter, const Parts& carried) {
          const Parts next = linear_step(c, at_step(c, *steps, counter), carried[0]);
          const Part row = c(op::expand_dims, {next[1]}, {{"axis", std::int64_t{0}}});
          return Parts{next[0], c(op::dynamic_update_slice, {carried[1], row, counter, Part(0), Part(0), Part(0), Part(0)})};
        });
    state = last[0];
    result = permuted(c, last[1], {1, 0, 2, 3, 4});
  }
  return {c.as(c[0].dtype(), c.reshape(result, {batch, length, query_heads * width})), c.as(kept, state)};
}

}  // namespace

std::span<const Lowering> language_lowerings() {
  static constexpr Lowering kRows[] = {
      {"CausalConvWithState", 27, causal_conv},
      {"LinearAttention", 27, linear_attention},
      {"RotaryEmbedding", 23, rotary_embedding},
      {"TensorScatter", 24, tensor_scatter},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
