// reshape, transpose, flip, broadcast_to and similar ops: each result is a copied view of its operand (moved.h).
#include "executor/cuda/kernels/moved.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

Moved transpose(const KernelRequest& request) {
  ops::Strides strides = row_major_strides(request.input_types[0].shape);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return {request.result_types[0].shape, {0, std::move(strides)}};
}

Moved permute_dims(const KernelRequest& request) {
  const ops::Strides own = row_major_strides(request.input_types[0].shape);
  Moved moved{request.result_types[0].shape, {}};
  for (const std::int64_t axis : request.attributes->get<ops::Integers>("axes"))
    moved.from.strides.push_back(own[static_cast<std::size_t>(*ops::find_axis(axis, request.input_types[0].rank()))]);
  return moved;
}

Moved broadcast_to(const KernelRequest& request) {
  const Shape& shape = request.result_types[0].shape;
  return {shape, {0, ops::broadcast_strides(request.input_types[0].shape, shape)}};
}

Moved flip(const KernelRequest& request) {
  const TensorType& x = request.input_types[0];
  const ops::AxisMarks marked = ops::marked_axes(*request.attributes, x.rank());
  Moved moved{x.shape, {0, row_major_strides(x.shape)}};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (!marked[axis]) continue;
    moved.from.offset += (x.shape[axis] - 1) * moved.from.strides[axis];
    moved.from.strides[axis] = -moved.from.strides[axis];
  }
  return moved;
}

KernelSource build_bitcast(const KernelRequest& request, const Architecture& architecture) {
  KernelRequest bytes = request;
  const DType from = request.input_types[0].dtype, to = request.result_types[0].dtype, larger = size_of(from) > size_of(to) ? from : to;
  bytes.input_types[0] = bytes.result_types[0] = {larger, {request.result_types[0].bytes() / size_of(larger)}};
  return build_moved<cuda::same_order>(bytes, architecture);
}

}  // namespace

constexpr KernelRow rows::bitcast{build_bitcast};
constexpr KernelRow rows::broadcast_to{build_moved<cuda::broadcast_to>};
constexpr KernelRow rows::expand_dims{build_moved<cuda::same_order>};
constexpr KernelRow rows::flip{build_moved<cuda::flip>};
constexpr KernelRow rows::permute_dims{build_moved<cuda::permute_dims>};
constexpr KernelRow rows::reshape{build_moved<cuda::same_order>};
constexpr KernelRow rows::squeeze{build_moved<cuda::same_order>};
constexpr KernelRow rows::transpose{build_moved<cuda::transpose>};

}  // namespace cleave::runtime::cuda
