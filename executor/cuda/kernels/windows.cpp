// dynamic_slice and dynamic_update_slice: copies of windows whose position is read on the device. If a window is not within its array,
// nothing is read or written, and the words of `fault` report it. An update copies its operand first unless it works in place.
#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/pieces.h"
#include "graph/ops/positions.h"

namespace cleave::runtime::cuda {
namespace {

/// A window whose whole trailing axes are merged into runs, measured in pieces.
struct Window {
  Shape around, window;    ///< shapes of the array and of its window; the last axis is a run
  std::int64_t piece = 1;  ///< bytes
  ops::Strides strides;    ///< strides of the array, in pieces

  Window(const TensorType& x, const Shape& extents) {
    std::size_t axes = x.shape.size();
    std::int64_t run = size_of(x.dtype);
    while (axes > 0 && extents[axes - 1] == x.shape[axes - 1]) run *= x.shape[--axes];
    piece = piece_bytes(run == 0 ? size_of(x.dtype) : run);
    around.assign(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axes));
    window.assign(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(axes));
    around.push_back(run / piece);
    window.push_back(run / piece);
    strides = row_major_strides(around);
  }
};

std::string number(std::size_t n) {
  return std::to_string(n);
}

/// Declares `base`, the window's first piece; if the window is not within the array, the threads return.
void find_window(KernelText& kernel, const KernelRequest& request, std::size_t first, const Shape& extents, const Window& window) {
  const Shape& shape = request.input_types[0].shape;
  const bool vector = request.input_types.size() == first + 1 && request.input_types[first].rank() == 1;
  kernel << "  Index base = 0;\n";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::string start = vector ? "x" + number(first) + "[" + number(axis) + "]" : "x" + number(first + axis) + "[0]";
    kernel << "  {\n    const i64 start = " << index_element(start, request.input_types[vector ? first : first + axis].dtype)
           << ", at = start < 0 ? start + " << kernel.constant(shape[axis]) << " : start;\n"
           << "    if (at < 0 || at > " << kernel.constant(shape[axis] - extents[axis])
           << ") {\n      tell_fault(fault, ticket, start);\n      return;\n    }\n";
    // Along the axes of the run the only valid start is 0.
    if (axis + 1 < window.around.size()) kernel << "    base += (Index)at * " << kernel.index(window.strides[axis]) << ";\n";
    kernel << "  }\n";
  }
}

/// Opens the loop over the window's pieces, one for each thread: `i` is the piece's number, `base + at0` its offset in the array.
void begin_window(KernelText& kernel, const Architecture& architecture, const Window& window) {
  kernel << "  typedef " << piece_type(window.piece) << " Piece;\n";
  const Walk walk = make_walk(window.window, std::span(&window.strides, 1));
  kernel.begin_loop(walk.count(), architecture);
  kernel.locate(walk, "i");
}

/// of_bytes(), except that the operands from `first` on, the starts, keep their type.
KernelRequest of_bytes_but_starts(const KernelRequest& request, std::size_t first) {
  KernelRequest bytes = of_bytes(request);
  for (std::size_t i = first; i < bytes.input_types.size(); ++i) bytes.input_types[i].dtype = request.input_types[i].dtype;
  return bytes;
}

KernelSource build_slice(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.input_types[0];
  const Shape& extents = request.result_types[0].shape;
  const Window window(x, extents);
  KernelText kernel("dynamic_slice", needs_wide_indices(request, architecture));
  find_window(kernel, request, 1, extents, window);
  begin_window(kernel, architecture, window);
  kernel << "    ((Piece*)y0)[i] = ((const Piece*)x0)[base + at0];\n";
  kernel.end_loop();
  return assemble(of_bytes_but_starts(request, 1), {}, std::span(&kernel, 1), 0,
                  ops::no_such_window("dynamic_slice", "{}", x.shape, extents));
}

KernelSource build_update(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& x = request.input_types[0];
  const Shape extents = ops::window_shape(x.shape, request.input_types[1].shape);
  const Window window(x, extents);
  const bool wide = needs_wide_indices(request, architecture);
  std::vector<KernelText> kernels;
  if (x.elements() > 0) {
    const std::int64_t piece = piece_bytes(x.bytes());
    KernelText& copy = kernels.emplace_back("copy_unless_there", wide);
    copy << "  typedef " << piece_type(piece) << " Piece;\n  if ((const u8*)y0 == x0) return;\n";
    copy.begin_loop(x.bytes() / piece, architecture);
    copy << "    ((Piece*)y0)[i] = ((const Piece*)x0)[i];\n";
    copy.end_loop();
  }
  KernelText& update = kernels.emplace_back("dynamic_update_slice", wide);
  find_window(update, request, 2, extents, window);
  begin_window(update, architecture, window);
  update << "    ((Piece*)y0)[base + at0] = ((const Piece*)x1)[i];\n";
  update.end_loop();
  return assemble(of_bytes_but_starts(request, 2), {}, kernels, 0, ops::no_such_window("dynamic_update_slice", "{}", x.shape, extents));
}

}  // namespace

constexpr KernelRow rows::dynamic_slice{build_slice};
constexpr KernelRow rows::dynamic_update_slice{build_update};

}  // namespace cleave::runtime::cuda
