// Convolutions that cuDNN does not compute (library/convolution.h), as implicit products of the weights (a group's output channels by taps)
// and the windows' elements (taps by positions of all images).
#include "graph/ops/convolution.h"
#include "executor/cuda/kernels/implicit_product.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

class ConvolutionKernelWriter final : public ImplicitProduct {
 public:
  ConvolutionKernelWriter(const KernelRequest& request, const Architecture& architecture, const ops::Convolution& conv)
      : ImplicitProduct(request, architecture, "convolution", needs_wide_indices(request, architecture) || conv.window.reaches_far(),
                        {conv.groups, conv.outputs, conv.batch * conv.window.outs(), conv.depth()}),
        conv_(conv),
        bias_(request.input_types.size() > 2) {}

 private:
  /// Computes the offset at which the window of column `j` begins.
  void locate_column() override {
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

  std::string left() override { return "load(x1[(group * " + number(conv_.outputs) + " + r) * " + number(conv_.depth()) + " + deep])"; }

  void load_right() override {
    const ops::Window& window = conv_.window;
    kernel_ << "          const Index channel = " << kernel_.quotient("k", window.taps()) << ", tap = k - channel * "
            << number(window.taps()) << ";\n          const Index high = " << kernel_.quotient("tap", window[2].kernel)
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
            << " + at0) * " << number(window[1].in) << " + at1) * " << number(window[2].in) << " + at2]);\n";
  }

  void locate_result() override { kernel_ << "      const Index of = " << kernel_.quotient("place", conv_.window.outs()) << ";\n"; }
  std::string offset() override {
    const std::string outs = number(conv_.window.outs());
    return "((of * " + number(conv_.groups) + " + group) * " + number(conv_.outputs) + " + output) * " + outs + " + place - of * " + outs;
  }
  std::string addend() override { return bias_ ? " + load(x2[group * " + number(conv_.outputs) + " + output])" : ""; }

  const ops::Convolution conv_;
  const bool bias_;
};

KernelSource build_convolution(const KernelRequest& request, const Architecture& architecture) {
  return ConvolutionKernelWriter(request, architecture, ops::convolution_of(request.input_types, *request.attributes)).write();
}

}  // namespace

constexpr KernelRow rows::conv{build_convolution};

}  // namespace cleave::runtime::cuda
