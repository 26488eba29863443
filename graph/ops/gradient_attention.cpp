// The gradient of attention is an operation; that by a mask, and the gradient of that operation, are written out by the scores: weights
// w = softmax(s), s = scale * q @ transpose(k) + mask.
#include <limits>
#include <optional>

#include "graph/ops/attention_shape.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"

namespace cleave::ops::gradients {
namespace {

/// One call of `attention` or of its gradient, with the queries that share a head of the keys as the rows of one matrix.
class Attention {
 public:
  /// `mask`: the number of that operand.
  Attention(Composer& c, GradientCall& call, std::size_t mask)
      : c_(c),
        call_(call),
        mask_(mask),
        shape_(attention_shape(types_of(call, mask), call.attributes())),
        dtype_(call.operand_type(0).dtype) {}

  /// The gradients of a call of `attention`.
  void give() {
    const Term q(c_, rows(call_.operand(0))), k(c_, rows(call_.operand(1))), v(c_, rows(call_.operand(2)));
    const Term g(c_, rows(call_.cotangent(0))), w = weights(q, k);
    if (call_.wants(2)) call_.give(2, of_operand(product(transposed(w), g), 2));
    const Term by_weights = product(g, transposed(v));
    give_scores(by_scores(w, by_weights), q, k);
  }

  /// Those of a call of `attention_gradient`, which gives dq = scale * t @ k, dk = scale * transpose(t) @ q and dv = transpose(w) @ g with
  /// t = w * (p - sum(w * p)) and p = g @ transpose(v).
  void give_second() {
    const Term q(c_, rows(call_.operand(0))), k(c_, rows(call_.operand(1))), v(c_, rows(call_.operand(2)));
    const Term g(c_, rows(call_.operand(3))), w = weights(q, k), scale(shape_.scale);
    std::optional<Term> by_w;
    const auto add = [](std::optional<Term>& sum, const Term& term) { sum = sum ? *sum + term : term; };
    std::optional<Term> by_q, by_k, by_g;
    if (call_.has_cotangent(2)) {
      const Term c(c_, rows(call_.cotangent(2)));
      add(by_g, product(w, c));
      add(by_w, product(g, transposed(c)));
    }
    if (call_.has_cotangent(0) || call_.has_cotangent(1)) {
      const Term p = product(g, transposed(v)), less = p - sum(w * p), t = w * less * scale;
      std::optional<Term> by_t;
      if (call_.has_cotangent(0)) {
        const Term a(c_, rows(call_.cotangent(0)));
        add(by_k, product(transposed(t), a));
        add(by_t, product(a, transposed(k)) * scale);
      }
      if (call_.has_cotangent(1)) {
        const Term b(c_, rows(call_.cotangent(1)));
        add(by_q, product(t, b));
        add(by_t, product(q, transposed(b)) * scale);
      }
      const Term mean = sum(w * *by_t), by_p = w * (*by_t - mean);
      add(by_w, *by_t * less - p * mean);
      add(by_g, product(by_p, v));
      if (call_.wants(2)) call_.give(2, of_operand(product(transposed(by_p), g), 2));
    }
    if (call_.wants(3)) call_.give(3, of_operand(*by_g, 3));
    give_scores(by_scores(w, *by_w), q, k, by_q, by_k);
  }

 private:
  static std::vector<TensorType> types_of(const GradientCall& call, std::size_t mask) {
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < 3; ++i) types.push_back(call.operand_type(i));
    if (call.operands() > mask) types.push_back(call.operand_type(mask));
    return types;
  }
  [[nodiscard]] bool masked() const { return call_.operands() > mask_; }

  /// From the gradient by the weights, that by the scores.
  [[nodiscard]] Term by_scores(const Term& w, const Term& by_weights) const { return w * (by_weights - sum(w * by_weights)); }
  /// Gives what the scores pass on, with what query and key get beside.
  void give_scores(const Term& by_scores, const Term& q, const Term& k, const std::optional<Term>& by_q = {},
                   const std::optional<Term>& by_k = {}) {
    if (masked() && call_.wants(mask_)) call_.give(mask_, c_.reshape(by_scores.part(), scores_shape(false)));
    const Term scaled = by_scores * Term(shape_.scale);
    const auto with = [](const std::optional<Term>& more, const Term& term) { return more ? *more + term : term; };
    if (call_.wants(0)) call_.give(0, of_operand(with(by_q, product(scaled, k)), 0));
    if (call_.wants(1)) call_.give(1, of_operand(with(by_k, product(transposed(scaled), q)), 1));
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
    const bool by_bool = masked() && call_.operand_type(mask_).dtype == DType::boolean;
    if (masked() && !by_bool) scores = scores + Term(c_, c_.as(scores.part().dtype(), over_scores(call_.operand(mask_)).part()));
    const Term hidden = -std::numeric_limits<double>::infinity();
    if (by_bool) scores = where(over_scores(call_.operand(mask_)), scores, hidden);
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
  std::size_t mask_;
  AttentionShape shape_;
  DType dtype_;
};

}  // namespace

void attention(Composer& c, GradientCall& call) {
  const Shape& keys = call.operand_type(1).shape;
  if (call.result_type(0).elements() == 0 || keys[keys.size() - 2] == 0) return;  // nothing, or zeros
  if (call.operands() > 3 && call.wants(3)) return Attention(c, call, 3).give();
  Parts operands{call.operand(0), call.operand(1), call.operand(2), call.cotangent(0)};
  if (call.operands() > 3) operands.push_back(call.operand(3));
  const Parts all = c.all(op::attention_gradient, operands, call.attributes());
  for (std::size_t i = 0; i < 3; ++i)
    if (call.wants(i)) call.give(i, all[i]);
}

void attention_gradient(Composer& c, GradientCall& call) {
  const Shape& keys = call.operand_type(1).shape;
  if (call.operand_type(3).elements() == 0 || keys[keys.size() - 2] == 0) return;
  Attention(c, call, 4).give_second();
}

}  // namespace cleave::ops::gradients
