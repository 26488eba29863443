#include "executor/cuda/kernels/moved.h"

#include <algorithm>

#include "executor/cuda/kernels/pieces.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kTile = 32, kTileRows = 8;  ///< a block of kTile x kTileRows threads moves kTile x kTile words, or squares of them
constexpr int kReads = 4;                          ///< reads in flight in a thread of contiguous copies
constexpr std::int64_t kWord = 4;                  ///< bytes; smaller elements are read several at once
constexpr std::int64_t kBlocksOnAMultiprocessor = 8;
constexpr std::int64_t kLeastToTile = 8;  ///< a tile does not pay for a shorter axis

std::string plus(KernelText& kernel, std::int64_t offset) {
  return offset == 0 ? "" : " + " + kernel.index(offset);
}

/// A loop over `count` pieces; a thread reads several before it writes, if there are enough. `locate` declares the position of piece `j`,
/// which is read at `at`.
template <class Locate>
void copy_pieces(KernelText& kernel, const Architecture& architecture, std::int64_t count, const std::string& x, const std::string& at,
                 const std::string& y, Locate locate) {
  if (count >= kReads * most_threads(architecture)) {
    const std::string loop = "#pragma unroll\n    for (int g = 0; g < " + std::to_string(kReads) + "; ++g) ";
    kernel.begin_groups(count, architecture, 1, kReads);
    kernel << "    Piece kept[" << std::to_string(kReads) << "];\n" << loop << "{\n    const Index j = i + g * apart;\n";
    locate();
    kernel << "    kept[g] = ((const Piece*)" << x << ")[" << at << "];\n    }\n"
           << loop << "((Piece*)" << y << ")[i + g * apart] = kept[g];\n";
    kernel.end_loop();
    kernel.begin_rest_of_groups(count);
  } else {
    kernel.begin_loop(count, architecture);
  }
  kernel << "    const Index j = i;\n";
  locate();
  kernel << "    ((Piece*)" << y << ")[i] = ((const Piece*)" << x << ")[" << at << "];\n";
  kernel.end_loop();
}

/// A contiguous copy: pieces, then the remaining elements one by one.
KernelText copy_in_order(const Architecture& architecture, bool wide, std::int64_t count, std::int64_t offset, std::int64_t size) {
  const std::int64_t piece = std::max(size, piece_bytes(offset * size)), each = piece / size;
  KernelText kernel("copy", wide);
  kernel << "  typedef " << piece_type(piece) << " Piece;\n  typedef " << piece_type(size) << " Element;\n";
  kernel << "  const Element* const x = (const Element*)x0" << plus(kernel, offset) << ";\n  Element* const y = (Element*)y0;\n";
  if (count % each != 0) {
    kernel << "  const Index behind = " << kernel.index(count / each * each) << " + (Index)threadIdx.x;\n"
           << "  if (blockIdx.x == 0 && behind < " << kernel.index(count) << ") y[behind] = x[behind];\n";
  }
  copy_pieces(kernel, architecture, count / each, "x", "j", "y", [] {});
  return kernel;
}

/// A copy with one piece for each thread, in the order of the result. `walk` has x, then the result.
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
  copy_pieces(kernel, architecture, walk.count(), "x0", "at0" + plus(kernel, offset), "y0", [&] { kernel.locate(walk, "j"); });
  return kernel;
}

/// The axis of `walk` along which x is contiguous, if the result is not and a tile pays.
std::optional<std::size_t> axis_to_exchange(const Walk& walk) {
  const std::size_t last = walk.extents.size() - 1;
  if (walk.strides[0][last] == 1 || walk.strides[0][last] == 0 || walk.extents[last] < kLeastToTile) return std::nullopt;
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (walk.strides[0][axis] == 1 && walk.extents[axis] >= kLeastToTile) return axis;
  }
  return std::nullopt;
}

/// The number of elements of `size` bytes that go through a tile in one word of four bytes: 1 unless they are smaller and all rows, both of
/// x (from `offset` on) and of the result, consist of whole words.
std::int64_t elements_a_word(const Walk& walk, std::size_t axis, std::int64_t offset, std::int64_t size) {
  const std::int64_t each = kWord / size;
  if (each < 2) return 1;
  const std::size_t last = walk.extents.size() - 1;
  const auto whole = [&](std::int64_t count) { return count % each == 0; };
  const auto fits = [&](std::int64_t extent) { return whole(extent) && extent >= each * kLeastToTile; };
  const auto all_whole = [&](const ops::Strides& strides, std::size_t along) {
    for (std::size_t k = 0; k <= last; ++k) {
      if (k != along && !whole(strides[k])) return false;
    }
    return true;
  };
  const bool words = fits(walk.extents[axis]) && fits(walk.extents[last]) && whole(offset) && all_whole(walk.strides[0], axis) &&
                     all_whole(walk.strides[1], last);
  return words ? each : 1;
}

/// A copy through tiles in shared memory: read along `axis`, written along the last axis. A tile is square: its rows are kTile words. A
/// thread transposes squares of elements in registers, so that both reads and writes are whole words. Rows of the tile whose elements came
/// from one word are kTile rows apart, so that neighboring threads write to different banks.
KernelText copy_exchanged(const Architecture& architecture, bool wide, Walk walk, std::size_t axis, std::int64_t offset,
                          std::int64_t size) {
  const std::size_t last = walk.extents.size() - 1;
  const std::int64_t each = elements_a_word(walk, axis, offset, size);
  const std::int64_t down = walk.extents[axis] / each, across = walk.extents[last] / each;  // words along `axis` and along the last axis
  for (std::size_t k = 0; k <= last; ++k) {
    walk.strides[0][k] /= each;
    walk.strides[1][k] /= each;
  }
  offset /= each;
  const std::int64_t step_x = walk.strides[0][last], step_y = walk.strides[1][axis];
  const std::int64_t tiles_down = (down + kTile - 1) / kTile, tiles_across = (across + kTile - 1) / kTile;
  walk.extents[axis] = walk.extents[last] = 1;
  const Walk others = make_walk(walk.extents, walk.strides);
  const std::int64_t tiles = tiles_down * tiles_across * others.count();
  const std::string number = std::to_string(each), rows = std::to_string(kTile * each);
  KernelText kernel("transpose", wide);
  kernel << "  typedef " << piece_type(size * each) << " Word;\n  __shared__ Word tile[" << rows << "][33];\n"
         << "  const Index column = (Index)threadIdx.x, row = (Index)threadIdx.y;\n"
         << "  for (Index t = (Index)blockIdx.x; t < " << kernel.index(tiles) << "; t += (Index)gridDim.x) {\n"
         << "    const Index rows = " << kernel.quotient("t", tiles_across) << ", i = " << kernel.quotient("rows", tiles_down) << ";\n"
         << "    const Index a = (t - rows * " << kernel.index(tiles_across) << ") * 32, d = (rows - i * " << kernel.index(tiles_down)
         << ") * 32;\n";
  kernel.locate(others, "i");
  const std::string end_down = kernel.index(down), end_across = kernel.index(across);
  kernel << "    Word words[4][" << number << "] = {};\n#pragma unroll\n    for (int k = 0; k < 4; ++k) {\n"
         << "      const Index there = a + row + k * 8;\n"
         << "      if (there < " << end_across << " && d + column < " << end_down << ") {\n#pragma unroll\n        for (int e = 0; e < "
         << number << "; ++e) words[k][e] = ((const Word*)x0)[at0 + (there * " << number << " + e) * " << kernel.index(step_x)
         << " + d + column" << plus(kernel, offset) << "];\n      }\n    }\n#pragma unroll\n    for (int k = 0; k < 4; ++k) {\n"
         << "      turn(words[k]);\n#pragma unroll\n      for (int e = 0; e < " << number
         << "; ++e) tile[e * 32 + column][row + k * 8] = words[k][e];\n    }\n    __syncthreads();\n"
         << "#pragma unroll\n    for (int k = 0; k < " << rows << "; k += 8) {\n      const Index there = d + row + k % 32;\n"
         << "      if (there < " << end_down << " && a + column < " << end_across << ") ((Word*)y0)[at1 + (there * " << number
         << " + k / 32) * " << kernel.index(step_y) << " + a + column] = tile[row + k][column];\n    }\n    __syncthreads();\n  }\n";
  kernel.launch.block = {kTile, kTileRows, 1};
  kernel.launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture.multiprocessors * kBlocksOnAMultiprocessor));
  kernel.launch.any_grid = true;
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
  if (walk.extents.size() > 1) {
    if (const auto axis = axis_to_exchange(walk))
      return assemble(of_bytes(request), copy_exchanged(architecture, wide, walk, *axis, offset, size), device_text("turning"));
  }
  const auto kernel = [&] {
    const bool in_order = walk.extents.empty() || (walk.extents.size() == 1 && walk.strides[0][0] == 1);
    if (in_order) return copy_in_order(architecture, wide, walk.count(), offset, size);
    return copy_view(architecture, wide, walk, offset, size);
  };
  return assemble(of_bytes(request), kernel());
}

}  // namespace cleave::runtime::cuda
