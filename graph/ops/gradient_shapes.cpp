// Gradients of operations that move elements: their adjoints.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

std::size_t axis_of(const GradientCall& call, int rank) {
  return static_cast<std::size_t>(*find_axis(call.attributes().get<std::int64_t>("axis"), rank));
}

/// The part of `x` from `start` to `stop` along an axis.
Part piece(Composer& c, const Part& x, std::size_t axis, std::int64_t start, std::int64_t stop) {
  Integers starts(static_cast<std::size_t>(x.rank()), 0), stops = x.shape();
  starts[axis] = start;
  stops[axis] = stop;
  return c(op::slice, {x}, {{"starts", starts}, {"stops", stops}});
}

void same_elements(Composer& c, GradientCall& call) {
  call.give(0, c.reshape(call.cotangent(0), call.operand_type(0).shape));
}

}  // namespace

void transpose(Composer& c, GradientCall& call) {
  call.give(0, c(op::transpose, {call.cotangent(0)}));
}

void permute_dims(Composer& c, GradientCall& call) {
  const Integers axes = call.attributes().get<Integers>("axes");
  const auto rank = static_cast<std::int64_t>(axes.size());
  Integers back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    back[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i])] = static_cast<std::int64_t>(i);
  call.give(0, c(op::permute_dims, {call.cotangent(0)}, {{"axes", back}}));
}

void reshape(Composer& c, GradientCall& call) {
  same_elements(c, call);
}
void expand_dims(Composer& c, GradientCall& call) {
  same_elements(c, call);
}
void squeeze(Composer& c, GradientCall& call) {
  same_elements(c, call);
}
void broadcast_to(Composer&, GradientCall& call) {
  call.give(0, call.cotangent(0));
}
void flip(Composer& c, GradientCall& call) {
  call.give(0, c(op::flip, {call.cotangent(0)}, call.attributes()));
}

void concat(Composer& c, GradientCall& call) {
  const std::size_t axis = axis_of(call, call.result_type(0).rank());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.operands(); ++i) {
    const std::int64_t stop = start + call.operand_type(i).shape[axis];
    if (call.wants(i)) call.give(i, piece(c, call.cotangent(0), axis, start, stop));
    start = stop;
  }
}

void stack(Composer& c, GradientCall& call) {
  const std::size_t axis = axis_of(call, call.result_type(0).rank());
  for (std::size_t i = 0; i < call.operands(); ++i) {
    if (!call.wants(i)) continue;
    const auto at = static_cast<std::int64_t>(i);
    call.give(i, c.reshape(piece(c, call.cotangent(0), axis, at, at + 1), call.operand_type(i).shape));
  }
}

void pad(Composer& c, GradientCall& call) {
  const Integers widths = call.attributes().get<Integers>("widths");
  const TensorType& x = call.operand_type(0);
  Integers starts, stops;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    starts.push_back(widths.size() == 1 ? widths[0] : widths[2 * axis]);
    stops.push_back(starts.back() + x.shape[axis]);
  }
  call.give(0, x.scalar() ? call.cotangent(0) : c(op::slice, {call.cotangent(0)}, {{"starts", starts}, {"stops", stops}}));
}

void repeat(Composer& c, GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const std::size_t axis = axis_of(call, x.rank());
  Shape split = x.shape;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, call.attributes().get<std::int64_t>("repeats"));
  const Integers summed{static_cast<std::int64_t>(axis) + 1};
  call.give(0, c(op::sum, {c.reshape(call.cotangent(0), split)}, {{"axis", summed}}));
}

void tile(Composer& c, GradientCall& call) {
  const TensorType &x = call.operand_type(0), &result = call.result_type(0);
  const auto added = static_cast<std::size_t>(result.rank() - x.rank());
  Shape split;
  Integers summed;
  for (std::size_t axis = 0; axis < result.shape.size(); ++axis) {
    const std::int64_t extent = axis < added ? 1 : x.shape[axis - added];
    summed.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(extent == 0 ? 1 : result.shape[axis] / extent);
    split.push_back(extent);
  }
  const Part sums = split.empty() ? call.cotangent(0) : c(op::sum, {c.reshape(call.cotangent(0), split)}, {{"axis", summed}});
  call.give(0, c.reshape(sums, x.shape));
}

}  // namespace cleave::ops::gradients
