// Kernels that change shapes: a contiguous copy if the result keeps the operand's order, else a strided copy.
#include <utility>

#include "executor/host/movement.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {
namespace {

using Integers = std::vector<std::int64_t>;

/// The copy that reads the result's elements, in order, by these strides.
Movement reading(const Shape& shape, const ops::Strides& strides) {
  const ops::Strides own = row_major_strides(shape);
  Movement movement;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) movement.copy.add(shape[axis], strides[axis], own[axis]);
  return movement;
}

Movement transpose_plan(const TensorType& x, const TensorType& result, const Attributes&) {
  ops::Strides strides = row_major_strides(x.shape);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return reading(result.shape, strides);
}

Movement permute_dims_plan(const TensorType& x, const TensorType& result, const Attributes& attributes) {
  const ops::Strides own = row_major_strides(x.shape);
  ops::Strides strides;
  for (const std::int64_t axis : attributes.get<Integers>("axes")) strides.push_back(own[*ops::find_axis(axis, x.rank())]);
  return reading(result.shape, strides);
}

Movement broadcast_to_plan(const TensorType& x, const TensorType& result, const Attributes&) {
  return reading(result.shape, ops::broadcast_strides(x.shape, result.shape));
}

Movement flip_plan(const TensorType& x, const TensorType& result, const Attributes& attributes) {
  const ops::AxisMarks marked = ops::marked_axes(attributes, x.rank());
  ops::Strides strides = row_major_strides(x.shape);
  std::int64_t from = 0;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (!marked[axis]) continue;
    from += (x.shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  Movement movement = reading(result.shape, strides);
  if (x.elements() > 0) movement.from = from;
  return movement;
}

}  // namespace

constexpr KernelRow rows::reshape{copy_kernel};
constexpr KernelRow rows::expand_dims{copy_kernel};
constexpr KernelRow rows::squeeze{copy_kernel};
constexpr KernelRow rows::bitcast{copy_kernel};
constexpr KernelRow rows::transpose = movement<transpose_plan>();
constexpr KernelRow rows::permute_dims = movement<permute_dims_plan>();
constexpr KernelRow rows::broadcast_to = movement<broadcast_to_plan>();
constexpr KernelRow rows::flip = movement<flip_plan>();

}  // namespace cleave::runtime::host
