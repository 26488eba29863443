#include "executor/cuda/kernels/implicit_product.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kTile = 64;  ///< must match the text, in which each of 256 threads has 4 x 4 results
constexpr std::int64_t kThreads = 256, kBlocksOnAMultiprocessor = 4;

std::int64_t tiles_of(std::int64_t count) {
  return (count + kTile - 1) / kTile;
}

}  // namespace

KernelSource ImplicitProduct::write() {
  if (request_.result_types[0].elements() == 0) return {};
  const std::int64_t wide = tiles_of(extents_.columns), high = tiles_of(extents_.rows), tiles = wide * high * extents_.groups;
  const std::string type = name_of(request_.result_types[0].dtype), depth = number(extents_.depth);
  kernel_.launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture_.multiprocessors * kBlocksOnAMultiprocessor));
  kernel_.launch.block = {kThreads, 1, 1};
  kernel_.launch.any_grid = true;
  kernel_ << "  typedef Compute<" << type << "> V;\n"
          << R"(  __shared__ V lefts[16][65], rights[16][65];
  const int lane = threadIdx.x, down = lane / 16, across = lane % 16;
)";
  kernel_ << "  for (Index tile = blockIdx.x; tile < " << number(tiles)
          << "; tile += gridDim.x) {\n    const Index band = " << kernel_.quotient("tile", wide)
          << ", group = " << kernel_.quotient("band", high) << ";\n    const Index column = (tile - band * " << number(wide)
          << ") * 64, row = (band - group * " << number(high) << ") * 64, j = column + lane % 64;\n";
  locate_column();
  kernel_ << R"(    V sums[4][4];
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 4; ++c) sums[r][c] = 0;
)";
  kernel_ << "    for (Index from = 0; from < " << depth
          << "; from += 16) {\n      for (int step = 0; step < 4; ++step) {\n        const Index r = row + down + 16 * step, deep = from + "
             "across;\n        lefts[across][down + 16 * step] = r < "
          << number(extents_.rows) << " && deep < " << depth << " ? " << left()
          << " : (V)0;\n        const Index k = from + lane / 64 + 4 * step;\n        V value = 0;\n        if (j < "
          << number(extents_.columns) << " && k < " << depth << ") {\n";
  load_right();
  kernel_ << R"(        }
        rights[lane / 64 + 4 * step][lane % 64] = value;
      }
      __syncthreads();
      for (int k = 0; k < 16; ++k)
        for (int r = 0; r < 4; ++r)
          for (int c = 0; c < 4; ++c) sums[r][c] += lefts[k][down + 16 * r] * rights[k][across + 16 * c];
      __syncthreads();
    }
    for (int c = 0; c < 4; ++c) {
      const Index place = column + across + 16 * c;
)";
  locate_result();
  kernel_ << "      for (int r = 0; r < 4; ++r) {\n        const Index output = row + down + 16 * r;\n        if (output < "
          << number(extents_.rows) << " && place < " << number(extents_.columns) << ")\n          y0[" << offset() << "] = store<" << type
          << ">((V)(sums[r][c]" << addend() << "));\n      }\n    }\n  }\n";
  return assemble(request_, kernel_);
}

}  // namespace cleave::runtime::cuda
