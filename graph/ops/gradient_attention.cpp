// The gradient of attention, by its scores: weights w = softmax(s), s = scale * q @ transpose(k) + mask.
#include <limits>

#include "graph/ops/attention_shape.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"

namespace cleave::ops::gradients {
namespace {

/// One call of `attention`, with the queries that share a head of the keys as the rows of one matrix.
class Attention {
 public:
  Attention(Composer& c, GradientCall& call)
      : c_(c), call_(call), shape_(attention_shape(types_of(call), call.attributes())), dtype_(call.operand_type(0).dtype) {}

  void give() {
    const Term q(c_, rows(call_.operand(0))), k(c_, rows(call_.operand(1))), v(c_, rows(call_.operand(2)));
    const Term g(c_, rows(call_.cotangent(0))), w = weights(q, k);
    if (call_.wants(2)) call_.give(2, of_operand(product(transposed(w), g), 2));
    if (!call_.wants(0) && !call_.wants(1) && !(call_.operands() > 3 && call_.wants(3))) return;
    const Term by_weights = product(g, transposed(v));
    const Term by_scores = w * (by_weights - sum(w * by_weights));
    if (call_.operands() > 3 && call_.wants(3)) call_.give(3, c_.reshape(by_scores.part(), scores_shape(false)));
    const Term scaled = by_scores * Term(shape_.scale);
    if (call_.wants(0)) call_.give(0, of_operand(product(scaled, k), 0));
    if (call_.wants(1)) call_.give(1, of_operand(product(transposed(scaled), q), 1));
  }

 private:
  static std::vector<TensorType> types_of(const GradientCall& call) {
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < call.operands(); ++i) types.push_back(call.operand_type(i));
    return types;
  }
  [[nodiscard]] Term product(const Term& a, const Term& b) const { return {c_, c_(op::matmul, {a.part(), b.part()})}; }
  [[nodiscard]] Term transposed(const Term& x) const { return {c_, c_(op::transpose, {x.part()})}; }
  [[nodiscard]] Term along_keys(const OpDef& op, const Term& x) const {
    return {c_, c_(op, {x.part()}, {{"axis", Integers{-1}}, {"keepdims", true}})};
  }
  [[nodiscard]] Term sum(const Term& x) const { return along_keys(op::sum, x); }

  /// [.., key heads, length, depth], in f32 at least.
  [[nodiscard]] Part rows(const Part& x) const {
    Shape shape = x.shape();
    if (shape.size() > 2) {
      const std::int64_t heads = shape[shape.size() - 3], group = shape_.key_heads == 0 ? 1 : heads / shape_.key_heads;
      shape[shape.size() - 3] = shape_.key_heads;
      shape[shape.size() - 2] *= group;
    }
    return c_.reshape(c_.as(size_of(dtype_) < 4 ? DType::f32 : dtype_, x), shape);
  }
  /// The cotangent of an operand as `give` takes it: with its heads, and all axes of the batch.
  [[nodiscard]] Part of_operand(const Term& g, std::size_t operand) const {
    const Shape own = call_.operand_type(operand).shape;
    Shape shape = g.part().shape();
    std::copy(own.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, own.size())), own.end(),
              shape.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, own.size())));
    return c_.reshape(g.part(), shape);
  }
  /// [.., heads, queries, keys]; `shared`: with the rows of each head of the keys in one.
  [[nodiscard]] Shape scores_shape(bool shared) const {
    Shape shape = shape_.batch;
    if (call_.operand_type(0).rank() > 2) shape.push_back(shared ? shape_.key_heads : shape_.heads);
    shape.push_back(shared ? shape_.queries * shape_.group() : shape_.queries);
    shape.push_back(shape_.keys);
    return shape;
  }
  [[nodiscard]] Term over_scores(const Part& x) const {
    return {c_, c_.reshape(c_(op::broadcast_to, {x}, {{"shape", scores_shape(false)}}), scores_shape(true))};
  }

  /// The softmax of the scores; zeros for a query that sees no key.
  [[nodiscard]] Term weights(const Term& q, const Term& k) const {
    Term scores = product(q, transposed(k)) * Term(shape_.scale);
    const bool masked = call_.operands() > 3, by_bool = masked && call_.operand_type(3).dtype == DType::boolean;
    if (masked && !by_bool) scores = scores + Term(c_, c_.as(scores.part().dtype(), over_scores(call_.operand(3)).part()));
    const Term hidden = -std::numeric_limits<double>::infinity();
    if (by_bool) scores = where(over_scores(call_.operand(3)), scores, hidden);
    if (shape_.causal) {
      const Part all = c_(op::ones, {}, {{"shape", Shape{shape_.queries, shape_.keys}}, {"dtype", DType::boolean}});
      scores = where(over_scores(c_(op::tril, {all}, {{"k", shape_.keys - shape_.queries}})), scores, hidden);
    }
    const Term most = along_keys(op::max, scores);
    const Term powers = gradients::call(op::exp, scores - where(most == hidden, 0, most)), total = sum(powers);
    return powers / where(total == 0, 1, total);
  }

  Composer& c_;
  GradientCall& call_;
  AttentionShape shape_;
  DType dtype_;
};

}  // namespace

void attention(Composer& c, GradientCall& call) {
  const Shape& keys = call.operand_type(1).shape;
  if (call.result_type(0).elements() == 0 || keys[keys.size() - 2] == 0) return;  // nothing, or zeros
  Attention(c, call).give();
}

}  // namespace cleave::ops::gradients
