// Gradients of convolutions as implicit products, and of pools with one thread for each element of the result.
#include <array>

#include "executor/cuda/kernels/implicit_product.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/window_text.h"
#include "graph/ops/window_gradients.h"

namespace cleave::runtime::cuda {
namespace {

/// The positions along three axes of the index `of`, as declarations with the prefix `name`: `of` counts over `extents`, innermost last.
void declare_places(KernelText& kernel, const std::string& indent, const std::string& name, const std::string& of,
                    const std::array<std::int64_t, 3>& extents) {
  const std::string line = name + "_line", plane = name + "0";
  kernel << indent << "const Index " << line << " = " << kernel.quotient(of, extents[2]) << ", " << plane << " = "
         << kernel.quotient(line, extents[1]) << ", " << name << "1 = " << line << " - " << plane << " * " << kernel.index(extents[1])
         << ", " << name << "2 = " << of << " - " << line << " * " << kernel.index(extents[2]) << ";\n";
}
std::array<std::int64_t, 3> extents_of(const ops::Window& window, std::int64_t ops::WindowAxis::*extent) {
  return {window[0].*extent, window[1].*extent, window[2].*extent};
}

/// Weights (channels of a group by outputs and taps) by the gradients at the windows that cover an element (outputs and taps by elements of
/// all images).
class InputGradientWriter final : public ImplicitProduct {
 public:
  InputGradientWriter(const KernelRequest& request, const Architecture& architecture, const ops::Convolution& conv)
      : ImplicitProduct(request, architecture, "conv_input_gradient",
                        needs_wide_indices(request, architecture) || conv.window.reaches_far(),
                        {conv.groups, conv.channels, conv.batch * conv.window.ins(), conv.outputs * conv.window.taps()}),
        conv_(conv) {}

 private:
  void locate_column() override {
    const ops::Window& window = conv_.window;
    kernel_ << "    const Index image = " << kernel_.quotient("j", window.ins()) << ", at = j - image * " << number(window.ins()) << ";\n";
    declare_places(kernel_, "    ", "in", "at", extents_of(window, &ops::WindowAxis::in));
    kernel_ << "    const Index outputs = (image * " << number(conv_.groups) << " + group) * " << number(conv_.outputs) << ";\n";
  }
  std::string left() override {
    const std::string taps = number(conv_.window.taps()), output = kernel_.quotient("deep", conv_.window.taps());
    return "load(x1[((group * " + number(conv_.outputs) + " + " + output + ") * " + number(conv_.channels) + " + r) * " + taps +
           " + deep - " + output + " * " + taps + "])";
  }
  void load_right() override {
    const ops::Window& window = conv_.window;
    kernel_ << "          const Index of = " << kernel_.quotient("k", window.taps()) << ", tap = k - of * " << number(window.taps())
            << ";\n";
    declare_places(kernel_, "          ", "tap", "tap", extents_of(window, &ops::WindowAxis::kernel));
    std::string inside;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::string n = std::to_string(a), stride = number(window[a].stride);
      kernel_ << "          const Index reach" << n << " = in" << n << " + " << number(window[a].before) << " - tap" << n << " * "
              << number(window[a].dilation) << ", out" << n << " = reach" << n << " / " << stride << ";\n";
      inside += (a > 0 ? " && reach" : "reach") + n + " >= 0 && out" + n + " * " + stride + " == reach" + n + " && out" + n + " < " +
                number(window[a].out);
    }
    kernel_ << "          if (" << inside << ")\n            value = load(x0[(((outputs + of) * " << number(window[0].out) << " + out0) * "
            << number(window[1].out) << " + out1) * " << number(window[2].out) << " + out2]);\n";
  }
  void locate_result() override { kernel_ << "      const Index of = " << kernel_.quotient("place", conv_.window.ins()) << ";\n"; }
  std::string offset() override {
    const std::string ins = number(conv_.window.ins());
    return "((of * " + number(conv_.groups) + " + group) * " + number(conv_.channels) + " + output) * " + ins + " + place - of * " + ins;
  }

  const ops::Convolution conv_;
};

/// Gradients (outputs of a group by windows of all images) by the windows' elements (windows by channels and taps).
class WeightGradientWriter final : public ImplicitProduct {
 public:
  WeightGradientWriter(const KernelRequest& request, const Architecture& architecture, const ops::Convolution& conv)
      : ImplicitProduct(request, architecture, "conv_weight_gradient",
                        needs_wide_indices(request, architecture) || conv.window.reaches_far(),
                        {conv.groups, conv.outputs, conv.depth(), conv.batch * conv.window.outs()}),
        conv_(conv) {}

 private:
  void locate_column() override {
    const ops::Window& window = conv_.window;
    kernel_ << "    const Index channel = " << kernel_.quotient("j", window.taps()) << ", tap = j - channel * " << number(window.taps())
            << ";\n";
    declare_places(kernel_, "    ", "tap", "tap", extents_of(window, &ops::WindowAxis::kernel));
    for (std::size_t a = 0; a < 3; ++a) {
      const std::string n = std::to_string(a);
      kernel_ << "    const Index first" << n << " = tap" << n << " * " << number(window[a].dilation) << " - " << number(window[a].before)
              << ";\n";
    }
  }
  std::string left() override {
    const std::string outs = number(conv_.window.outs()), image = kernel_.quotient("deep", conv_.window.outs());
    return "load(x1[((" + image + " * " + number(conv_.groups) + " + group) * " + number(conv_.outputs) + " + r) * " + outs + " + deep - " +
           image + " * " + outs + "])";
  }
  void load_right() override {
    const ops::Window& window = conv_.window;
    kernel_ << "          const Index image = " << kernel_.quotient("k", window.outs()) << ", p = k - image * " << number(window.outs())
            << ";\n";
    declare_places(kernel_, "          ", "out", "p", extents_of(window, &ops::WindowAxis::out));
    std::string inside;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::string n = std::to_string(a);
      kernel_ << "          const Index at" << n << " = first" << n << " + out" << n << " * " << number(window[a].stride) << ";\n";
      inside += (a > 0 ? " && at" : "at") + n + " >= 0 && at" + n + " < " + number(window[a].in);
    }
    kernel_ << "          if (" << inside << ")\n            value = load(x0[((((image * " << number(conv_.groups) << " + group) * "
            << number(conv_.channels) << " + channel) * " << number(window[0].in) << " + at0) * " << number(window[1].in) << " + at1) * "
            << number(window[2].in) << " + at2]);\n";
  }
  void locate_result() override {}
  std::string offset() override { return "(group * " + number(conv_.outputs) + " + output) * " + number(conv_.depth()) + " + place"; }

  const ops::Convolution conv_;
};

template <class Writer, ops::Convolution (*find)(ops::Types, const Attributes&)>
KernelSource build_convolution_gradient(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture, find(request.input_types, *request.attributes)).write();
}

// --- pools -------------------------------------------------------------------------------------------------------------------------------

/// The text of the gradients of pools, whose results have an element for each element of x or for each window.
class PoolGradientText {
 public:
  PoolGradientText(const KernelRequest& request, const Architecture& architecture, const TensorType& x)
      : request_(request),
        architecture_(architecture),
        window_(ops::pool_window(x, *request.attributes)),
        kernel_("pool_gradient", needs_wide_indices(request, architecture) || window_.reaches_far()) {}

  KernelSource of_largest() {
    over_elements();
    kernel_ << "    {\n";
    find_largest("o");
    kernel_ << "    if (largest == at) sum += widen(x1[channel * " << number(window_.outs()) << " + " << window_number() << "]);\n    }\n";
    return finish("store<" + type() + ">(sum)");
  }
  KernelSource of_means() {
    over_elements();
    const bool padding = request_.attributes->get<bool>("count_include_pad");
    std::string counted;
    kernel_ << "    {\n";
    for (std::size_t a = 0; a < 3; ++a) {
      TapsText taps(kernel_, window_[a], a, "o" + std::to_string(a));
      taps.declare(true, padding);
      counted += (a > 0 ? " * " : "") + taps.counted();
    }
    kernel_ << "    sum += widen(x0[channel * " << number(window_.outs()) << " + " << window_number() << "]) / (V)(" << counted
            << ");\n    }\n";
    return finish("store<" + type() + ">(sum)");
  }
  KernelSource gathered() {
    kernel_.begin_loop(request_.result_types[0].elements(), architecture_);
    kernel_ << "    const Index channel = " << kernel_.quotient("i", window_.outs()) << ", p = i - channel * " << number(window_.outs())
            << ";\n";
    declare_places(kernel_, "    ", "o", "p", extents_of(window_, &ops::WindowAxis::out));
    find_largest("o");
    return finish("largest < 0 ? store<" + type() + ">((Compute<" + type() + ">)0) : x1[channel * " + number(window_.ins()) +
                  " + largest]");
  }

 private:
  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }
  [[nodiscard]] std::string type() const { return name_of(request_.result_types[0].dtype); }
  [[nodiscard]] std::string window_number() { return "((o0 * " + number(window_[1].out) + " + o1) * " + number(window_[2].out) + " + o2)"; }

  /// Opens a loop over the elements of x, and in it one over the windows that cover each.
  void over_elements() {
    kernel_.begin_loop(request_.result_types[0].elements(), architecture_, 1, true);
    kernel_ << "    const Index channel = " << kernel_.quotient("i", window_.ins()) << ", at = i - channel * " << number(window_.ins())
            << ";\n";
    declare_places(kernel_, "    ", "in", "at", extents_of(window_, &ops::WindowAxis::in));
    std::array<CoveringText, 3> axes = {CoveringText(kernel_, window_[0], 0, "in0"), CoveringText(kernel_, window_[1], 1, "in1"),
                                        CoveringText(kernel_, window_[2], 2, "in2")};
    for (CoveringText& axis : axes) axis.declare();
    kernel_ << "    typedef Wide<" << type() << "> V;\n    V sum = 0;\n";
    for (CoveringText& axis : axes) axis.open_loop();
  }

  /// Declares `largest`: the offset in the channel of the largest element of the window at `place`0, `place`1, …; -1: it has none.
  void find_largest(const std::string& place) {
    std::array<TapsText, 3> axes = {TapsText(kernel_, window_[0], 0, place + "0"), TapsText(kernel_, window_[1], 1, place + "1"),
                                    TapsText(kernel_, window_[2], 2, place + "2")};
    for (TapsText& axis : axes) axis.declare(false, false);
    kernel_ << "    Index largest = -1;\n    Compute<" << type() << "> most = 0;\n";
    for (TapsText& axis : axes) axis.open_loop();
    kernel_ << "    {\n      const Index seen = (" << axes[0].at() << " * " << number(window_[1].in) << " + " << axes[1].at() << ") * "
            << number(window_[2].in) << " + " << axes[2].at() << ";\n      const Compute<" << type() << "> element = load(x0[channel * "
            << number(window_.ins())
            << " + seen]);\n      if (largest < 0 || element > most || element != element) {\n        most = element;\n"
            << "        largest = seen;\n      }\n    }\n";
  }

  KernelSource finish(const std::string& element) {
    kernel_ << "    y0[i] = " << element << ";\n";
    kernel_.end_loop();
    return assemble(request_, kernel_);
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const ops::Window window_;
  KernelText kernel_;
};

/// The kernel that `write` makes; nothing for an empty result.
template <KernelSource (PoolGradientText::*write)()>
KernelSource build_pool_gradient(const KernelRequest& request, const Architecture& architecture) {
  if (request.result_types[0].elements() == 0) return {};
  const TensorType x = request.input_types.size() == 1 ? request.result_types[0] : request.input_types[0];
  PoolGradientText text(request, architecture, x);
  return (text.*write)();
}

}  // namespace

constexpr KernelRow rows::conv_input_gradient{build_convolution_gradient<InputGradientWriter, ops::convolution_of_input_gradient>};
constexpr KernelRow rows::conv_weight_gradient{build_convolution_gradient<WeightGradientWriter, ops::convolution_of_weight_gradient>};
constexpr KernelRow rows::max_pool_gradient{build_pool_gradient<&PoolGradientText::of_largest>};
constexpr KernelRow rows::max_pool_gather{build_pool_gradient<&PoolGradientText::gathered>};
constexpr KernelRow rows::avg_pool_gradient{build_pool_gradient<&PoolGradientText::of_means>};

}  // namespace cleave::runtime::cuda
