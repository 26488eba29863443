#include "models/onnx/heads.h"

#include <limits>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_given(const Part& part) {
  return !part.operand().poisoned();
}

/// Stacks the query heads that share a key head as rows of one matrix; or the reverse. `heads`: the number of heads of the result.
Part gathered(Call& c, const Part& x, std::int64_t heads) {
  const Shape shape = x.shape();
  return heads == 0 || !is_given(x) ? x : reshaped(c, x, {shape[0], heads, shape[1] * shape[2] / heads, shape[3]});
}
Part scattered(Call& c, const Part& x, const Part& query) {
  const Shape shape = query.shape();
  return !is_given(x) ? x : reshaped(c, x, {shape[0], shape[1], shape[2], x.shape()[3]});
}

/// `bias`, and minus infinity for keys that are not visible.
Part hidden(Call& c, const Part& bias, const Part& visible) {
  return c(op::where, {visible, bias, c.number_as(bias.dtype(), -kInfinity)});
}

/// The positions that a causal rule shows, as a mask [queries, keys].
Part causal_mask(Call& c, const Heads& of) {
  const Part rows = c(op::expand_dims, {numbers_below(c, of.queries())}, {{"axis", std::int64_t{1}}});
  return c(op::less_equal, {numbers_below(c, of.keys()), c.add(rows, of.keys() - of.queries())});
}

/// Softmax of the last axis, to whose sums each row's `sink` contributes.
Part softmax_with_sink(Call& c, const Part& scores, const Part& sink) {
  const Attributes last{{"axis", Integers{-1}}, {"keepdims", true}};
  const Part column = c.reshape(c.as(scores.dtype(), sink), {sink.type().elements(), 1, 1});
  const Part largest = c(op::maximum, {c(op::max, {scores}, last), column});
  const Part raised = c(op::exp, {c.subtract(scores, largest)}), sunk = c(op::exp, {c.subtract(column, largest)});
  return c.divide(raised, c.add(c(op::sum, {raised}, last), sunk));
}

Attended in_parts(Call& c, const Heads& of, const ScoreRules& rules) {
  const DType dtype = of.query.dtype(), precise = promote(dtype, DType::f32);
  Attended all;
  all.scores = c.as(precise, scores_of(c, of, rules.scale));
  if (rules.softcap > 0) all.scores = c.multiply(c(op::tanh, {c.multiply(all.scores, 1 / rules.softcap)}), rules.softcap);
  if (is_given(rules.bias)) all.scores = c.add(all.scores, c.as(precise, rules.bias));
  Part visible = rules.visible;
  if (rules.causal) {
    const Part mask = causal_mask(c, of);
    visible = is_given(visible) ? c(op::logical_and, {visible, mask}) : mask;
  }
  const Part seen = is_given(visible) ? hidden(c, all.scores, visible) : all.scores;
  if (is_given(visible)) all.scores = c(op::where, {visible, all.scores, c.number_as(precise, 0)});
  all.weights = is_given(rules.sink) ? softmax_with_sink(c, seen, rules.sink) : c(op::softmax, {seen});
  all.result = weighted_values(c, of, c.as(dtype, all.weights));
  return all;
}

}  // namespace

bool heads_fit(Call& c, const Heads& of) {
  if (!is_given(of.query) || !is_given(of.key) || !is_given(of.value)) return false;  // what made them so is reported
  const bool ranks = of.query.rank() == 4 && of.key.rank() == 4 && of.value.rank() == 4;
  const std::int64_t shared = ranks ? of.key.shape()[1] : 0;
  if (ranks && shared > 0 && of.query.shape()[1] % shared == 0 && of.value.shape()[1] == shared) return true;
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` of " + to_string(of.query.type()) + ", " + to_string(of.key.type()) +
                                       " and " + to_string(of.value.type()) + ": they have no heads in common");
  return false;
}

std::optional<Part> split_heads(Call& c, const Part& x, const char* attribute) {
  if (x.rank() != 3) return x;
  const std::int64_t heads = c.integer(attribute, 0);
  const Shape shape = x.shape();
  if (heads < 1 || shape[2] % heads != 0) {
    c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` of " + to_string(x.type()) + " needs `" + attribute +
                                         "`, the heads that its last axis divides into");
    return std::nullopt;
  }
  return permuted(c, c.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

std::optional<Heads> split_heads(Call& c, const Part& query, const Part& key, const Part& value, const char* heads, const char* key_heads) {
  const std::optional<Part> q = split_heads(c, query, heads);
  const std::optional<Part> k = q ? split_heads(c, key, key_heads) : std::nullopt;
  const std::optional<Part> v = k ? split_heads(c, value, key_heads) : std::nullopt;
  return v ? std::optional(Heads{*q, *k, *v}) : std::nullopt;
}

Part joined_heads(Call& c, const Part& x) {
  if (x.operand().poisoned()) return x;
  const Shape shape = x.shape();
  return c.reshape(permuted(c, x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Part scores_of(Call& c, const Heads& of, double scale) {
  const Part product = c(op::matmul, {gathered(c, of.query, of.key.shape()[1]), c(op::transpose, {of.key})});
  return c.multiply(scattered(c, product, of.query), scale);
}

Part weighted_values(Call& c, const Heads& of, const Part& weights) {
  return scattered(c, c(op::matmul, {gathered(c, weights, of.value.shape()[1]), of.value}), of.query);
}

double given_scale(Call& c, const Heads& of) {
  const double scale = c.number("scale", 0);
  return scale == 0 ? of.usual_scale() : scale;
}

Attended attended(Call& c, const Heads& of, const ScoreRules& rules, bool want_scores) {
  if (want_scores || rules.softcap > 0 || is_given(rules.sink)) return in_parts(c, of, rules);
  Parts operands{of.query, of.key, of.value};
  if (is_given(rules.bias))
    operands.push_back(is_given(rules.visible) ? hidden(c, rules.bias, rules.visible) : rules.bias);
  else if (is_given(rules.visible))
    operands.push_back(rules.visible);
  return {c(op::attention, operands, {{"causal", rules.causal}, {"scale", rules.scale}}), {}, {}};
}

Part numbers_below(Call& c, std::int64_t count) {
  return c(op::arange, {}, {{"start", std::int64_t{0}}, {"stop", count}});
}

}  // namespace cleave::models::onnx
