// max_pool and avg_pool: one thread for each element of the result, over the taps of its window that are inside x.
#include "graph/ops/pooling.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/window_text.h"

namespace cleave::runtime::cuda {
namespace {

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
  TapsText axes[] = {{kernel, window[0], 0, "plane"},
                     {kernel, window[1], 1, "(line - plane * " + number(window[1].out) + ")"},
                     {kernel, window[2], 2, "(p - line * " + number(window[2].out) + ")"}};
  for (TapsText& axis : axes) axis.declare(means, padding);
  const std::string type = name_of(result.dtype);
  kernel << "    typedef " << (means ? "Wide" : "Compute") << "<" << type
         << "> V;\n    V taken = " << (means ? "0" : "(V)-__longlong_as_double(0x7ff0000000000000LL)") << ";\n";
  for (TapsText& axis : axes) axis.open_loop();
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
