#include "executor/cuda/kernels/moved.h"

#include <algorithm>

#include "executor/cuda/kernels/pieces.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kTile = 32, kTileRows = 8;  ///< a block of kTile x kTileRows threads moves kTile x kTile elements
constexpr std::int64_t kBlocksOnAMultiprocessor = 8;
constexpr std::int64_t kLeastToTile = 8;  ///< an axis shorter than that is not worth a tile

std::string plus(KernelText& kernel, std::int64_t offset) {
  return offset == 0 ? "" : " + " + kernel.index(offset);
}

/// Elements in their order: pieces, and what is left over one by one.
KernelText copy_in_order(const Architecture& architecture, bool wide, std::int64_t count, std::int64_t offset, std::int64_t size) {
  const std::int64_t piece = std::max(size, piece_bytes(offset * size)), each = piece / size;
  KernelText kernel("copy", wide);
  kernel << "  typedef " << piece_type(piece) << " Piece;\n  typedef " << piece_type(size) << " Element;\n";
  kernel << "  const Element* const x = (const Element*)x0" << plus(kernel, offset) << ";\n  Element* const y = (Element*)y0;\n";
  if (count % each != 0) {
    kernel << "  const Index behind = " << kernel.index(count / each * each) << " + (Index)threadIdx.x;\n"
           << "  if (blockIdx.x == 0 && behind < " << kernel.index(count) << ") y[behind] = x[behind];\n";
  }
  kernel.begin_loop(count / each, architecture);
  kernel << "    ((Piece*)y)[i] = ((const Piece*)x)[i];\n";
  kernel.end_loop();
  return kernel;
}

/// One piece a thread, in the order of the result. `walk`: x, then the result.
KernelText copy_view(const Architecture& architecture, bool wide, Walk walk, std::int64_t offset, std::int64_t size) {
  std::int64_t piece = size;
  if (walk.strides[0].back() == 1) {
    piece = piece_bytes(offset * size, piece_bytes(walk.extents.back() * size));
    for (std::size_t axis = 0; axis + 1 < walk.extents.size(); ++axis) piece = piece_bytes(walk.strides[0][axis] * size, piece);
    piece = std::max(piece, size);
    const std::int64_t elements = piece / size;
    walk.extents.back() /= elements;
    offset /= elements;
    for (ops::Strides& strides : walk.strides) {
      for (std::size_t axis = 0; axis + 1 < strides.size(); ++axis) strides[axis] /= elements;
    }
    walk = make_walk(walk.extents, walk.strides);
  }
  walk.strides.pop_back();
  KernelText kernel("copy_view", wide);
  kernel << "  typedef " << piece_type(piece) << " Piece;\n";
  kernel.begin_loop(walk.count(), architecture);
  kernel.locate(walk, "i");
  kernel << "    ((Piece*)y0)[i] = ((const Piece*)x0)[at0" << plus(kernel, offset) << "];\n";
  kernel.end_loop();
  return kernel;
}

/// The axis of `walk` along which x lies in order, if the result does not and a tile is worth it.
std::optional<std::size_t> axis_to_exchange(const Walk& walk) {
  const std::size_t last = walk.extents.size() - 1;
  if (walk.strides[0][last] == 1 || walk.strides[0][last] == 0 || walk.extents[last] < kLeastToTile) return std::nullopt;
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (walk.strides[0][axis] == 1 && walk.extents[axis] >= kLeastToTile) return axis;
  }
  return std::nullopt;
}

/// Through tiles: read along `axis`, written along the last axis.
KernelText copy_exchanged(const Architecture& architecture, bool wide, Walk walk, std::size_t axis, std::int64_t offset,
                          std::int64_t size) {
  const std::size_t last = walk.extents.size() - 1;
  const std::int64_t down = walk.extents[axis], across = walk.extents[last];  // extents along `axis` and along the last axis
  const std::int64_t step_x = walk.strides[0][last], step_y = walk.strides[1][axis];
  const std::int64_t tiles_down = (down + kTile - 1) / kTile, tiles_across = (across + kTile - 1) / kTile;
  walk.extents[axis] = walk.extents[last] = 1;
  const Walk others = make_walk(walk.extents, walk.strides);
  const std::int64_t tiles = tiles_down * tiles_across * others.count();
  KernelText kernel("transpose", wide);
  kernel << "  typedef " << piece_type(size) << " Piece;\n  __shared__ Piece tile[32][33];\n"
         << "  const Index column = (Index)threadIdx.x, row = (Index)threadIdx.y;\n"
         << "  for (Index t = (Index)blockIdx.x; t < " << kernel.index(tiles) << "; t += (Index)gridDim.x) {\n"
         << "    const Index rows = " << kernel.quotient("t", tiles_across) << ", i = " << kernel.quotient("rows", tiles_down) << ";\n"
         << "    const Index a = (t - rows * " << kernel.index(tiles_across) << ") * 32, d = (rows - i * " << kernel.index(tiles_down)
         << ") * 32;\n";
  kernel.locate(others, "i");
  const std::string end_down = kernel.index(down), end_across = kernel.index(across);
  kernel << "#pragma unroll\n    for (int k = 0; k < 32; k += 8)\n      if (a + row + k < " << end_across << " && d + column < " << end_down
         << ") tile[row + k][column] = ((const Piece*)x0)[at0 + (a + row + k) * " << kernel.index(step_x) << " + d + column"
         << plus(kernel, offset) << "];\n    __syncthreads();\n"
         << "#pragma unroll\n    for (int k = 0; k < 32; k += 8)\n      if (d + row + k < " << end_down << " && a + column < " << end_across
         << ") ((Piece*)y0)[at1 + (d + row + k) * " << kernel.index(step_y) << " + a + column] = tile[column][row + k];\n"
         << "    __syncthreads();\n  }\n";
  kernel.launch.block = {kTile, kTileRows, 1};
  kernel.launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture.multiprocessors * kBlocksOnAMultiprocessor));
  return kernel;
}

}  // namespace

Moved same_order(const KernelRequest& request) {
  return {{request.input_types[0].elements()}, {0, {1}}};
}

KernelSource build_copy(const KernelRequest& request, const Architecture& architecture, const Moved& moved) {
  const std::int64_t size = size_of(request.result_types[0].dtype), offset = moved.from.offset;
  const std::vector<ops::Strides> strides = {moved.from.strides, row_major_strides(moved.shape)};
  const Walk walk = make_walk(moved.shape, strides);
  const bool wide = needs_wide_indices(request, architecture);
  const auto kernel = [&] {
    const bool in_order = walk.extents.empty() || (walk.extents.size() == 1 && walk.strides[0][0] == 1);
    if (in_order) return copy_in_order(architecture, wide, walk.count(), offset, size);
    if (const auto axis = axis_to_exchange(walk)) return copy_exchanged(architecture, wide, walk, *axis, offset, size);
    return copy_view(architecture, wide, walk, offset, size);
  };
  return assemble(of_bytes(request), kernel());
}

}  // namespace cleave::runtime::cuda
