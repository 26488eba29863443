// Gradients of reductions and of softmax.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

Shape kept_shape(const GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  return reduced_shape(x.shape, marked_axes(call.attributes(), x.rank()), true);
}

/// `part`, which has the shape of the result, with the reduced axes as axes of extent 1.
Term kept(Composer& c, const GradientCall& call, const Part& part) {
  return {c, c.reshape(part, kept_shape(call))};
}

std::int64_t reduced_elements(const GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const AxisMarks marked = marked_axes(call.attributes(), x.rank());
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    if (marked[axis]) count *= x.shape[axis];
  return count;
}

std::vector<std::int64_t> reduced_axes(const GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const AxisMarks marked = marked_axes(call.attributes(), x.rank());
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    if (marked[axis]) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

Term sum_kept(const GradientCall& call, const Term& x) {
  Composer& c = *x.composer();
  return {c, c(op::sum, {x.part()}, {{"axis", reduced_axes(call)}, {"keepdims", true}})};
}

/// The elements that equal the result share its cotangent.
void extreme(Composer& c, GradientCall& call) {
  const Term chosen = Term(c, call.operand(0)) == kept(c, call, call.result(0));
  const Term weight(c, c.as(call.operand_type(0).dtype, chosen.part()));
  call.give(0, (weight * (kept(c, call, call.cotangent(0)) / sum_kept(call, weight))).part());
}

}  // namespace

void sum(Composer& c, GradientCall& call) {
  call.give(0, kept(c, call, call.cotangent(0)).part());
}

void mean(Composer& c, GradientCall& call) {
  const double count = static_cast<double>(reduced_elements(call));
  call.give(0, (kept(c, call, call.cotangent(0)) / Term(count)).part());
}

/// The product of all other elements, from running products from both ends: exact where elements are zero.
void prod(Composer& c, GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const AxisMarks marked = marked_axes(call.attributes(), x.rank());
  std::vector<std::int64_t> order, back(static_cast<std::size_t>(x.rank()));
  Shape ordered, lines;
  for (const bool wanted : {false, true}) {
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
      if (marked[axis] != wanted) continue;
      back[axis] = static_cast<std::int64_t>(order.size());
      order.push_back(static_cast<std::int64_t>(axis));
      ordered.push_back(x.shape[axis]);
      if (!wanted) lines.push_back(x.shape[axis]);
    }
  }
  lines.push_back(reduced_elements(call));
  const Part line = c.reshape(c(op::permute_dims, {call.operand(0)}, {{"axes", order}}), lines);
  const auto running = [&](bool reverse) {
    return Term(c, c(op::cumulative_prod, {line}, {{"axis", std::int64_t{-1}}, {"exclusive", true}, {"reverse", reverse}}));
  };
  const Part others = c.reshape((running(false) * running(true)).part(), ordered);
  const Term straight(c, c(op::permute_dims, {others}, {{"axes", back}}));
  call.give(0, (kept(c, call, call.cotangent(0)) * straight).part());
}

void max(Composer& c, GradientCall& call) {
  extreme(c, call);
}
void min(Composer& c, GradientCall& call) {
  extreme(c, call);
}

void softmax(Composer& c, GradientCall& call) {
  const Term g(c, call.cotangent(0)), r(c, call.result(0));
  const Term weighted = g * r;
  const std::int64_t axis = call.attributes().get<std::int64_t>("axis");
  const Term total(c, c(op::sum, {weighted.part()}, {{"axis", std::vector<std::int64_t>{axis}}, {"keepdims", true}}));
  call.give(0, (weighted - r * total).part());
}

void log_softmax(Composer& c, GradientCall& call) {
  const Term g(c, call.cotangent(0)), r(c, call.result(0));
  const std::int64_t axis = call.attributes().get<std::int64_t>("axis");
  const Term total(c, c(op::sum, {g.part()}, {{"axis", std::vector<std::int64_t>{axis}}, {"keepdims", true}}));
  call.give(0, (g - gradients::call(op::exp, r) * total).part());
}

}  // namespace cleave::ops::gradients
