// Gradients of operations that read or replace a part of an array, and of sorting. They change the operand's cotangent in place, so that
// reading an element in a loop costs an element, and not the array.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"
#include "graph/ops/views.h"

namespace cleave::ops::gradients {
namespace {

/// All operands from `first` on, behind `head`.
Parts with_operands(GradientCall& call, std::size_t first, Parts head) {
  for (std::size_t i = first; i < call.operands(); ++i) head.push_back(call.operand(i));
  return head;
}

/// The elements of an axis with `step - 1` zeros between them.
Part spread(Composer& c, const Part& x, std::size_t axis, std::int64_t step) {
  Shape shape = x.shape();
  if (step == 1 || shape[axis] < 2) return x;
  Shape split = shape;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  Integers widths(2 * split.size(), 0);
  widths[2 * (axis + 1) + 1] = step - 1;
  const std::int64_t used = (shape[axis] - 1) * step + 1;
  shape[axis] *= step;
  const Part padded = c.reshape(c(op::pad, {c.reshape(x, split)}, {{"widths", widths}}), shape);
  Shape stops = shape;
  stops[axis] = used;
  return c(op::slice, {padded}, {{"starts", Integers(shape.size(), 0)}, {"stops", stops}});
}

/// `sum` with the result's cotangents added to the elements that stand at `indices` along an axis.
Part added_at(Composer& c, GradientCall& call, const Part& sum, const Part& indices, std::int64_t axis) {
  return c(op::scatter, {sum, indices, call.cotangent(0)}, {{"axis", axis}, {"reduction", std::string("add")}});
}
void give_at(Composer& c, GradientCall& call, const Part& indices, std::int64_t axis) {
  call.give_into(0, [&](const Part& sum) { return added_at(c, call, sum, indices, axis); });
}

}  // namespace

/// Reversed axes are turned round, and between the elements of a step stand zeros.
void slice(Composer& c, GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const std::vector<SlicedAxis> axes = sliced_axes(x, call.attributes());
  Shape shape;
  for (const SlicedAxis& axis : axes) shape.push_back(axis.count);
  Part g = c.reshape(call.cotangent(0), shape);
  Integers firsts, stops;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto [start, step, count] = axes[axis];
    const bool reversed = step < 0 && count > 0;
    if (reversed) g = c(op::flip, {g}, {{"axis", Integers{static_cast<std::int64_t>(axis)}}});
    g = spread(c, g, axis, std::abs(step));
    firsts.push_back(count == 0 ? 0 : reversed ? start + (count - 1) * step : start);
    stops.push_back(firsts.back() + g.shape()[axis]);
  }
  if (g.shape() == x.shape) return call.give(0, g);
  call.give_into(0, [&](const Part& sum) {
    const Part there = c(op::slice, {sum}, {{"starts", firsts}, {"stops", stops}});
    Parts operands{sum, c.add(there, g)};
    operands.insert(operands.end(), firsts.begin(), firsts.end());
    return c(op::dynamic_update_slice, operands);
  });
}

void take(Composer& c, GradientCall& call) {
  call.give_into(0, [&](const Part& sum) {
    const Attributes& attributes = call.attributes();
    if (attributes.get_if<std::int64_t>("axis"))
      return c(op::scatter_add, {sum, call.operand(1), call.cotangent(0)}, {{"axis", attributes.get<std::int64_t>("axis")}});
    const Part flat = c.reshape(sum, {call.operand_type(0).elements()});  // indices into all elements
    return c.reshape(c(op::scatter_add, {flat, call.operand(1), call.cotangent(0)}), call.operand_type(0).shape);
  });
}

void take_along_axis(Composer& c, GradientCall& call) {
  const TensorType& x = call.operand_type(0);
  const std::int64_t axis = call.attributes().get<std::int64_t>("axis");
  const Shape& shape = call.result_type(0).shape;
  const Part all = call.operand_type(1).shape == shape ? call.operand(1) : c(op::broadcast_to, {call.operand(1)}, {{"shape", shape}});
  Shape wide = shape;  // that of x, broadcast along the other axes
  const auto along = static_cast<std::size_t>(*find_axis(axis, x.rank()));
  wide[along] = x.shape[along];
  if (wide == x.shape) return give_at(c, call, all, axis);
  call.give(0, added_at(c, call, c(op::zeros, {}, {{"shape", wide}, {"dtype", x.dtype}}), all, axis));
}

void dynamic_slice(Composer& c, GradientCall& call) {
  const Attributes sizes{{"sizes", call.attributes().get<Integers>("sizes")}};
  call.give_into(0, [&](const Part& sum) {
    const Part there = c(op::dynamic_slice, with_operands(call, 1, {sum}), sizes);
    const Part g = call.cotangent(0);
    return c(op::dynamic_update_slice, with_operands(call, 1, {sum, c.add(there, g)}));
  });
}

void dynamic_update_slice(Composer& c, GradientCall& call) {
  const TensorType& update = call.operand_type(1);
  const Part g = call.cotangent(0);
  Integers sizes(static_cast<std::size_t>(g.rank() - update.rank()), 1);
  sizes.insert(sizes.end(), update.shape.begin(), update.shape.end());
  if (call.wants(0)) {
    const Part zeros = c(op::zeros, {}, {{"shape", sizes}, {"dtype", g.dtype()}});
    call.give(0, c(op::dynamic_update_slice, with_operands(call, 2, {g, zeros})));
  }
  if (call.wants(1)) {
    const Part there = c(op::dynamic_slice, with_operands(call, 2, {g}), {{"sizes", sizes}});
    call.give(1, c.reshape(there, update.shape));
  }
}

void scatter_add(Composer& c, GradientCall& call) {
  const Part g = call.cotangent(0);
  call.give(0, g);
  if (call.wants(2)) {
    call.give(2, c(op::take, {g, call.operand(1)}, {{"axis", call.attributes().get<std::int64_t>("axis")}}));
  }
}

void sort(Composer& c, GradientCall& call) {
  give_at(c, call, c(op::argsort, {call.operand(0)}, call.attributes()), call.attributes().get<std::int64_t>("axis"));
}
void top_k(Composer& c, GradientCall& call) {
  give_at(c, call, call.result(1), -1);
}

}  // namespace cleave::ops::gradients
