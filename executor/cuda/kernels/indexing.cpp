// slice, take and one_hot: elements by position. A position out of range is reported through the words of `fault`; nothing is read or
// written for it. A slice is a view (moved.h).
#include <algorithm>

#include "executor/cuda/kernels/moved.h"
#include "executor/cuda/kernels/pieces.h"
#include "graph/ops/rules.h"
#include "graph/ops/views.h"

namespace cleave::runtime::cuda {
namespace {

/// Statements that declare the position `k` of an index (negative: counted from the end), and report a fault if it is out of range.
std::string check_position(KernelText& kernel, std::int64_t extent, DType index) {
  const std::string all = kernel.constant(extent);
  return "    const i64 index = " + index_element("positions[q]", index) + ", k = index < 0 ? index + " + all +
         " : index;\n    if (k < 0 || k >= " + all + ") {\n      tell_fault(fault, ticket, index);\n      continue;\n    }\n";
}

/// The result has the axes [before, positions, behind]; each run of `behind` elements is one of x, which has [before, extent, behind].
KernelSource build_take(const KernelRequest& request, const Architecture& architecture) {
  const TensorType &x = request.input_types[0], &positions = request.input_types[1], &result = request.result_types[0];
  if (positions.elements() == 0) return {};
  const auto along = static_cast<std::size_t>(*ops::find_axis(request.attributes->get_or<std::int64_t>("axis", 0), x.rank()));
  const std::int64_t extent = x.shape[along], size = size_of(x.dtype);
  std::int64_t behind = 1;
  for (std::size_t axis = along + 1; axis < x.shape.size(); ++axis) behind *= x.shape[axis];
  const std::int64_t piece = piece_bytes(behind * size);
  KernelRequest bytes = of_bytes(request);
  bytes.input_types[1].dtype = positions.dtype;
  KernelText kernel("take", needs_wide_indices(request, architecture));
  kernel << "  typedef " << piece_type(piece) << " Piece;\n  const " << name_of(positions.dtype) << "* const positions = x1;\n";
  if (result.elements() == 0) {  // nothing is taken, but an invalid position is still an error
    kernel.begin_loop(positions.elements(), architecture);
    kernel << "    const Index q = i;\n" << check_position(kernel, extent, positions.dtype);
  } else {
    const std::int64_t run = behind * size / piece, count = positions.elements();
    kernel.begin_loop(result.bytes() / piece, architecture);
    kernel << "    const Index r = " << kernel.quotient("i", run) << ", p = i - r * " << kernel.index(run) << ";\n"
           << "    const Index b = " << kernel.quotient("r", count) << ", q = r - b * " << kernel.index(count) << ";\n"
           << check_position(kernel, extent, positions.dtype) << "    ((Piece*)y0)[i] = ((const Piece*)x0)[(b * " << kernel.index(extent)
           << " + (Index)k) * " << kernel.index(run) << " + p];\n";
  }
  kernel.end_loop();
  return assemble(bytes, {}, std::span(&kernel, 1), 0, "`take`: the index {} is outside the axis of extent " + std::to_string(extent));
}

KernelSource build_one_hot(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const std::int64_t size = size_of(result.dtype), depth = result.shape.back();
  KernelRequest bytes = of_bytes(request);
  bytes.input_types[0].dtype = request.input_types[0].dtype;
  KernelText kernel("one_hot", needs_wide_indices(request, architecture));
  kernel << "  typedef " << piece_type(size) << " Element;\n";
  declare_piece(kernel, "one", size, repeated_bits(std::int64_t{1}, result.dtype));
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index r = " << kernel.quotient("i", depth) << ";\n"
         << "    ((Element*)y0)[i] = (i64)x0[r] == (i64)(i - r * " << kernel.index(depth) << ") ? one : (Element)0;\n";
  kernel.end_loop();
  return assemble(bytes, kernel);
}

Moved slice(const KernelRequest& request) {
  return {request.result_types[0].shape, ops::slice_view(request.input_types[0], *request.attributes)};
}

}  // namespace

constexpr KernelRow rows::one_hot{build_one_hot};
constexpr KernelRow rows::slice{build_moved<cuda::slice>};
constexpr KernelRow rows::take{build_take};

}  // namespace cleave::runtime::cuda
