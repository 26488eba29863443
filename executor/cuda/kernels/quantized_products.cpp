// quantized_matmul and quantized_conv: one thread for each element of the result, with a sum of i32.
#include "graph/ops/quantized_products.h"

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/window_text.h"
#include "graph/ops/convolution.h"

namespace cleave::runtime::cuda {
namespace {

/// An operand behind the factors at an output: the same element for all if it is a scalar.
std::string at_output(const KernelRequest& request, std::size_t operand, const std::string& output) {
  return "x" + std::to_string(operand) + (request.input_types[operand].scalar() ? "[0]" : "[" + output + "]");
}

/// Writes element `i` of the result from `sum`.
void write_result(KernelText& kernel, const KernelRequest& request, const std::string& output) {
  const std::size_t operands = request.input_types.size();
  if (operands > ops::kQuantizedBias) kernel << "    sum += (u32)" << at_output(request, ops::kQuantizedBias, output) << ";\n";
  if (operands <= ops::kQuantizedFactor) {
    kernel << "    y0[i] = (i32)sum;\n";
    return;
  }
  kernel << "    const f32 scaled = (f32)(i32)sum * " << at_output(request, ops::kQuantizedFactor, output) << ";\n    y0[i] = ";
  if (operands <= ops::kQuantizedZero) {
    kernel << "scaled;\n";
    return;
  }
  kernel << "convert<" << name_of(request.result_types[0].dtype) << ">(rint(scaled) + (f32)x6[0]);\n";
}

KernelSource build_quantized_matmul(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const ops::QuantizedMatmul p = ops::quantized_matmul_of(request.input_types);
  KernelText kernel("quantized_matmul", needs_wide_indices(request, architecture));
  const auto number = [&](std::int64_t value) { return kernel.index(value); };
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index line = " << kernel.quotient("i", p.columns) << ", column = i - line * " << number(p.columns)
         << ", matrix = " << kernel.quotient("line", p.rows) << ", row = line - matrix * " << number(p.rows) << ";\n";
  const ops::Strides strides[] = {p.a_batch, p.b_batch};
  kernel.locate(make_walk(p.batch, strides), "matrix");
  kernel << "    const i32 x_zero = x2[0], weight_zero = " << at_output(request, ops::kQuantizedWeightZero, "column")
         << ";\n    u32 sum = 0;\n    for (Index k = 0; k < " << number(p.inner) << "; ++k)\n      sum += (u32)((x0[at0 + row * "
         << number(p.inner) << " + k] - x_zero) * (x1[at1 + k * " << number(p.columns) << " + column] - weight_zero));\n";
  write_result(kernel, request, "column");
  kernel.end_loop();
  return assemble(request, kernel);
}

KernelSource build_quantized_conv(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const ops::Convolution conv = ops::convolution_of(request.input_types, *request.attributes);
  const ops::Window& window = conv.window;
  KernelText kernel("quantized_conv", needs_wide_indices(request, architecture) || window.reaches_far());
  const auto number = [&](std::int64_t value) { return kernel.index(value); };
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index image_output = " << kernel.quotient("i", window.outs()) << ", p = i - image_output * " << number(window.outs())
         << ", line = " << kernel.quotient("p", window[2].out) << ", plane = " << kernel.quotient("line", window[1].out)
         << ", image = " << kernel.quotient("image_output", conv.groups * conv.outputs) << ", output = image_output - image * "
         << number(conv.groups * conv.outputs) << ", group = " << kernel.quotient("output", conv.outputs) << ";\n";
  TapsText axes[] = {{kernel, window[0], 0, "plane"},
                     {kernel, window[1], 1, "(line - plane * " + number(window[1].out) + ")"},
                     {kernel, window[2], 2, "(p - line * " + number(window[2].out) + ")"}};
  for (TapsText& axis : axes) axis.declare(false, false);
  kernel << "    const i32 x_zero = x2[0], weight_zero = " << at_output(request, ops::kQuantizedWeightZero, "output")
         << ";\n    u32 sum = 0;\n    for (Index channel = 0; channel < " << number(conv.channels) << "; ++channel)\n";
  for (TapsText& axis : axes) axis.open_loop();
  kernel << "      sum += (u32)((x0[((((image * " << number(conv.groups) << " + group) * " << number(conv.channels) << " + channel) * "
         << number(window[0].in) << " + " << axes[0].at() << ") * " << number(window[1].in) << " + " << axes[1].at() << ") * "
         << number(window[2].in) << " + " << axes[2].at() << "] - x_zero) * (x1[(((output * " << number(conv.channels) << " + channel) * "
         << number(window[0].kernel) << " + t0) * " << number(window[1].kernel) << " + t1) * " << number(window[2].kernel)
         << " + t2] - weight_zero));\n";
  write_result(kernel, request, "output");
  kernel.end_loop();
  return assemble(request, kernel);
}

}  // namespace

constexpr KernelRow rows::quantized_conv{build_quantized_conv};
constexpr KernelRow rows::quantized_matmul{build_quantized_matmul};

}  // namespace cleave::runtime::cuda
