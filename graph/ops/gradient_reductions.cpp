// Gradients of reductions, of running sums and products, and of softmax.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

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
  return marked_elements(x.shape, marked_axes(call.attributes(), x.rank()));
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

/// The sum along the axis of a softmax, kept with extent 1.
Term sum_of_lines(const GradientCall& call, const Term& x) {
  Composer& c = *x.composer();
  const Integers axis{call.attributes().get<std::int64_t>("axis")};
  return {c, c(op::sum, {x.part()}, {{"axis", axis}, {"keepdims", true}})};
}

/// Element i + `by` of an axis in the place of element i; zeros at the end.
Part moved_down(Composer& c, const Part& x, std::size_t axis, std::int64_t by) {
  Integers starts(static_cast<std::size_t>(x.rank()), 0), stops = x.shape(), widths(2 * starts.size(), 0);
  starts[axis] = by;
  widths[2 * axis + 1] = by;
  return c(op::pad, {c(op::slice, {x}, {{"starts", starts}, {"stops", stops}})}, {{"widths", widths}});
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

/// Each element counts in all sums from its own on: the same running sum from the other end.
void cumulative_sum(Composer& c, GradientCall& call) {
  Attributes attributes = call.attributes();
  attributes.set("reverse", !attributes.get<bool>("reverse"));
  call.give(0, c(op::cumulative_sum, {call.cotangent(0)}, attributes));
}

/// Element j is a factor of the products from its own on. Of each the factors before j are the running product, exclusive; those behind j,
/// weighted with the cotangents, are h[j] = g[j] + x[j + 1] * h[j + 1], in twice as long steps each time. Nothing is divided by x: exact
/// where elements are zero.
void cumulative_prod(Composer& c, GradientCall& call) {
  const TensorType& type = call.result_type(0);
  const bool exclusive = call.attributes().get<bool>("exclusive"), reverse = call.attributes().get<bool>("reverse");
  const auto along = *find_axis(call.attributes().get_or<std::int64_t>("axis", 0), type.rank());
  const std::int64_t count = type.shape[static_cast<std::size_t>(along)];
  if (type.elements() == 0) return;
  const auto turned = [&](const Part& x) { return reverse ? c(op::flip, {x}, {{"axis", Integers{along}}}) : x; };
  const auto moved = [&](const Term& x, std::int64_t by) { return Term(c, moved_down(c, x.part(), static_cast<std::size_t>(along), by)); };
  const Part straight = turned(c.as(type.dtype, call.operand(0)));
  const Term x(c, straight), g(c, turned(call.cotangent(0)));
  Term sums = exclusive ? moved(g, 1) : g, factors = moved(x, 1);
  for (std::int64_t step = 1; step < count; step *= 2) {
    sums = sums + factors * moved(sums, step);
    if (2 * step < count) factors = factors * moved(factors, step);
  }
  const Term before(c, c(op::cumulative_prod, {straight}, {{"axis", std::int64_t{along}}, {"exclusive", true}}));
  call.give(0, turned((before * sums).part()));
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
  call.give(0, (weighted - r * sum_of_lines(call, weighted)).part());
}

void log_softmax(Composer& c, GradientCall& call) {
  const Term g(c, call.cotangent(0)), r(c, call.result(0));
  call.give(0, (g - gradients::call(op::exp, r) * sum_of_lines(call, g)).part());
}

}  // namespace cleave::ops::gradients
