// max_pool and avg_pool: one thread for each element of the result, over the taps of its window that are inside x.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/pooling.h"

namespace cleave::runtime::cuda {
namespace {

/// One axis of the windows: the code for a window's begin and for its taps that are inside x.
class Axis {
 public:
  Axis(KernelText& kernel, const ops::WindowAxis& axis, std::size_t number, std::string place)
      : kernel_(kernel), axis_(axis), number_(std::to_string(number)), place_(std::move(place)) {}

  void declare(bool means, bool padding) {
    kernel_ << "    const Index first" << number_ << " = " << place_ << " * " << number(axis_.stride) << " - " << number(axis_.before)
            << ";\n";
    range("", 0, axis_.in);
    if (means && padding) range("padded_", -axis_.before, axis_.in + axis_.after);
    if (means) counted_ = (padding ? "(padded_end" : "(end") + number_ + (padding ? " - padded_begin" : " - begin") + number_ + ")";
  }
  [[nodiscard]] const std::string& counted() const { return counted_; }
  void open_loop() {
    kernel_ << "    for (Index t" << number_ << " = begin" << number_ << "; t" << number_ << " < end" << number_ << "; ++t" << number_
            << ")\n";
  }
  [[nodiscard]] std::string at() { return "(first" + number_ + " + t" + number_ + " * " + number(axis_.dilation) + ")"; }

 private:
  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }
  /// Declares the range of taps between two positions.
  void range(const std::string& prefix, std::int64_t begin, std::int64_t end) {
    for (const auto& [name, place] : {std::pair(std::string("begin"), begin), std::pair(std::string("end"), end)}) {
      const std::string lack = "(" + number(place) + " - first" + number_ + ")";
      kernel_ << "    Index " << prefix << name << number_ << " = " << lack << " > 0 ? (" << lack << " + " << number(axis_.dilation - 1)
              << ") / " << number(axis_.dilation) << " : 0;\n    if (" << prefix << name << number_ << " > " << number(axis_.kernel) << ") "
              << prefix << name << number_ << " = " << number(axis_.kernel) << ";\n";
    }
  }

  KernelText& kernel_;
  const ops::WindowAxis& axis_;
  std::string number_, place_, counted_;
};

template <bool means>
KernelSource build_pool(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const ops::Window window = ops::pool_window(request.input_types[0], *request.attributes);
  const bool padding = means && request.attributes->get<bool>("count_include_pad");
  KernelText kernel("pool", needs_wide_indices(request, architecture) || window.reaches_far());
  const auto number = [&](std::int64_t value) { return kernel.index(value); };
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index channel = " << kernel.quotient("i", window.outs()) << ", p = i - channel * " << number(window.outs())
         << ", line = " << kernel.quotient("p", window[2].out) << ", plane = " << kernel.quotient("line", window[1].out) << ";\n";
  Axis axes[] = {{kernel, window[0], 0, "plane"},
                 {kernel, window[1], 1, "(line - plane * " + number(window[1].out) + ")"},
                 {kernel, window[2], 2, "(p - line * " + number(window[2].out) + ")"}};
  for (Axis& axis : axes) axis.declare(means, padding);
  const std::string type = name_of(result.dtype);
  kernel << "    typedef " << (means ? "Wide" : "Compute") << "<" << type
         << "> V;\n    V taken = " << (means ? "0" : "(V)-__longlong_as_double(0x7ff0000000000000LL)") << ";\n";
  for (Axis& axis : axes) axis.open_loop();
  kernel << "    {\n      const V element = " << (means ? "widen" : "load") << "(x0[((channel * " << number(window[0].in) << " + "
         << axes[0].at() << ") * " << number(window[1].in) << " + " << axes[1].at() << ") * " << number(window[2].in) << " + "
         << axes[2].at() << "]);\n      " << (means ? "taken += element" : "if (element > taken || element != element) taken = element")
         << ";\n    }\n    y0[i] = store<" << type << ">(taken";
  if (means) kernel << " / (V)(" << axes[0].counted() << " * " << axes[1].counted() << " * " << axes[2].counted() << ")";
  kernel << ");\n";
  kernel.end_loop();
  return assemble(request, kernel);
}

}  // namespace

constexpr KernelRow rows::avg_pool{build_pool<true>};
constexpr KernelRow rows::max_pool{build_pool<false>};

}  // namespace cleave::runtime::cuda
