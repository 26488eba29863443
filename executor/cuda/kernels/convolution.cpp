// Convolutions that cuDNN does not compute (library/convolution.h), as implicit matrix products (implicit GEMM): a block computes tiles of
// results (a group's output channels by positions) one after the other, from tiles of the weights and of the windows' elements, which are
// gathered into shared memory on demand.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/convolution.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kTile = 64;  ///< must match the text, in which each of 256 threads has 4 x 4 results
constexpr std::int64_t kThreads = 256, kBlocksOnAMultiprocessor = 4;

std::int64_t tiles_of(std::int64_t count) {
  return (count + kTile - 1) / kTile;
}

class ConvolutionKernelWriter {
 public:
  ConvolutionKernelWriter(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        architecture_(architecture),
        conv_(ops::convolution_of(request.input_types, *request.attributes)),
        kernel_("convolution", needs_wide_indices(request, architecture) || conv_.window.reaches_far()) {}

  KernelSource write() {
    if (request_.result_types[0].elements() == 0) return {};
    const std::int64_t columns = conv_.batch * conv_.window.outs(), wide = tiles_of(columns), high = tiles_of(conv_.outputs);
    const std::int64_t tiles = wide * high * conv_.groups;
    kernel_.launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture_.multiprocessors * kBlocksOnAMultiprocessor));
    kernel_.launch.block = {kThreads, 1, 1};
    kernel_.launch.any_grid = true;
    kernel_ << "  typedef Compute<" << name_of(request_.result_types[0].dtype) << "> V;\n"
            << R"(  __shared__ V weights[16][65], seen[16][65];
  const int lane = threadIdx.x, down = lane / 16, across = lane % 16;
)";
    kernel_ << "  for (Index tile = blockIdx.x; tile < " << kernel_.index(tiles)
            << "; tile += gridDim.x) {\n    const Index band = " << kernel_.quotient("tile", wide)
            << ", group = " << kernel_.quotient("band", high) << ";\n    const Index column = (tile - band * " << kernel_.index(wide)
            << ") * 64, row = (band - group * " << kernel_.index(high) << ") * 64, j = column + lane % 64;\n";
    locate();
    kernel_ << R"(    V sums[4][4];
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 4; ++c) sums[r][c] = 0;
)";
    kernel_ << "    for (Index from = 0; from < " << depth_ << "; from += 16) {\n      for (int step = 0; step < 4; ++step) {\n";
    load_weight();
    load_seen(columns);
    kernel_ << R"(      }
      __syncthreads();
      for (int k = 0; k < 16; ++k)
        for (int r = 0; r < 4; ++r)
          for (int c = 0; c < 4; ++c) sums[r][c] += weights[k][down + 16 * r] * seen[k][across + 16 * c];
      __syncthreads();
    }
)";
    store(columns);
    kernel_ << "  }\n";
    return assemble(request_, kernel_);
  }

 private:
  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }

  /// Computes the offset at which the window of column `j` begins.
  void locate() {
    const ops::Window& window = conv_.window;
    kernel_ << "    const Index image = " << kernel_.quotient("j", window.outs()) << ", p = j - image * " << number(window.outs())
            << ", line = " << kernel_.quotient("p", window[2].out) << ", plane = " << kernel_.quotient("line", window[1].out) << ";\n";
    const std::string at[] = {"plane", "(line - plane * " + number(window[1].out) + ")", "(p - line * " + number(window[2].out) + ")"};
    for (std::size_t a = 0; a < 3; ++a)
      kernel_ << "    const Index first" << std::to_string(a) << " = " << at[a] << " * " << number(window[a].stride) << " - "
              << number(window[a].before) << ";\n";
    kernel_ << "    const Index channels = (image * " << number(conv_.groups) << " + group) * " << number(conv_.channels * window.ins())
            << ";\n";
  }

  void load_weight() {
    kernel_ << "        const Index r = row + down + 16 * step, deep = from + across;\n        weights[across][down + 16 * step] = r < "
            << number(conv_.outputs) << " && deep < " << depth_ << " ? load(x1[(group * " << number(conv_.outputs) << " + r) * " << depth_
            << " + deep]) : (V)0;\n";
  }

  void load_seen(std::int64_t columns) {
    const ops::Window& window = conv_.window;
    kernel_ << "        const Index k = from + lane / 64 + 4 * step;\n        V value = 0;\n        if (j < " << number(columns)
            << " && k < " << depth_ << ") {\n          const Index channel = " << kernel_.quotient("k", window.taps())
            << ", tap = k - channel * " << number(window.taps())
            << ";\n          const Index high = " << kernel_.quotient("tap", window[2].kernel)
            << ", higher = " << kernel_.quotient("high", window[1].kernel) << ";\n";
    const std::string tap[] = {"higher", "(high - higher * " + number(window[1].kernel) + ")",
                               "(tap - high * " + number(window[2].kernel) + ")"};
    std::string inside;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::string at = "at" + std::to_string(a);
      kernel_ << "          const Index " << at << " = first" << std::to_string(a) << " + " << tap[a] << " * " << number(window[a].dilation)
              << ";\n";
      inside += (a > 0 ? " && " : "") + at + " >= 0 && " + at + " < " + number(window[a].in);
    }
    kernel_ << "          if (" << inside << ")\n            value = load(x0[channels + ((channel * " << number(window[0].in)
            << " + at0) * " << number(window[1].in) << " + at1) * " << number(window[2].in)
            << " + at2]);\n        }\n        seen[lane / 64 + 4 * step][lane % 64] = value;\n";
  }

  void store(std::int64_t columns) {
    const std::string outs = number(conv_.window.outs()), outputs = number(conv_.outputs);
    kernel_ << "    for (int c = 0; c < 4; ++c) {\n      const Index place = column + across + 16 * c, of = "
            << kernel_.quotient("place", conv_.window.outs()) << ";\n      for (int r = 0; r < 4; ++r) {\n"
            << "        const Index output = row + down + 16 * r;\n        if (output < " << outputs << " && place < " << number(columns)
            << ")\n          y0[((of * " << number(conv_.groups) << " + group) * " << outputs << " + output) * " << outs
            << " + place - of * " << outs << "] = store<" << name_of(request_.result_types[0].dtype) << ">((V)(sums[r][c]"
            << (request_.input_types.size() > 2 ? " + load(x2[group * " + outputs + " + output])" : "") << "));\n      }\n    }\n";
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const ops::Convolution conv_;
  KernelText kernel_;
  const std::string depth_ = kernel_.index(conv_.depth());
};

KernelSource build_convolution(const KernelRequest& request, const Architecture& architecture) {
  return ConvolutionKernelWriter(request, architecture).write();
}

}  // namespace

constexpr KernelRow rows::conv{build_convolution};

}  // namespace cleave::runtime::cuda
