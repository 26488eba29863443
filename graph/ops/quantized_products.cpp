// quantized_matmul and quantized_conv: exact sums of products of 8-bit integers minus their zero points, which may be rescaled at once.
// They are what ONNX calls MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv.
#include "graph/ops/quantized_products.h"

#include <cmath>
#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/calls.h"
#include "graph/ops/convert.h"
#include "graph/ops/convolution.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/quantization.h"
#include "graph/ops/rules.h"
#include "graph/ops/wrapping.h"

namespace cleave {
namespace ops {
namespace {

Shape leading_axes(const TensorType& type) {
  return {type.shape.begin(), type.shape.end() - 2};
}

bool is_byte(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8;
}

/// The element type of the result, or what is wrong with the operands behind the first two. `outputs`: the columns of a product, or the
/// output channels of a convolution.
std::variant<DType, TypeError> rescaled_type(std::string_view op, Types inputs, std::int64_t outputs) {
  const auto wrong = [&](DiagnosticKind kind, const std::string& why) { return refuse(kind, op, inputs, why); };
  const auto fits = [&](std::size_t operand) { return inputs[operand].scalar() || inputs[operand].shape == Shape{outputs}; };
  const std::string each = " must be a scalar or have the " + std::to_string(outputs) + (op == "quantized_conv" ? " outputs" : " columns");
  if (!is_byte(inputs[kQuantizedX].dtype) || !is_byte(inputs[kQuantizedWeight].dtype))
    return wrong(DiagnosticKind::type, "the factors must be of i8 or u8");
  if (inputs[kQuantizedXZero].dtype != inputs[kQuantizedX].dtype || inputs[kQuantizedWeightZero].dtype != inputs[kQuantizedWeight].dtype)
    return wrong(DiagnosticKind::type, "each zero point must have the type of its factor");
  if (!inputs[kQuantizedXZero].scalar()) return wrong(DiagnosticKind::shape, "the first factor's zero point must be a scalar");
  if (!fits(kQuantizedWeightZero)) return wrong(DiagnosticKind::shape, "the second factor's zero point" + each);
  if (inputs.size() <= kQuantizedBias) return DType::i32;
  if (inputs[kQuantizedBias].dtype != DType::i32) return wrong(DiagnosticKind::type, "the bias must be of i32");
  if (!fits(kQuantizedBias)) return wrong(DiagnosticKind::shape, "the bias" + each);
  if (inputs.size() <= kQuantizedFactor) return DType::i32;
  if (inputs[kQuantizedFactor].dtype != DType::f32) return wrong(DiagnosticKind::type, "the factor must be of f32");
  if (!fits(kQuantizedFactor)) return wrong(DiagnosticKind::shape, "the factor" + each);
  if (inputs.size() <= kQuantizedZero) return DType::f32;
  if (!is_byte(inputs[kQuantizedZero].dtype) || !inputs[kQuantizedZero].scalar())
    return wrong(DiagnosticKind::type, "the result's zero point must be a scalar of i8 or u8");
  return inputs[kQuantizedZero].dtype;
}

/// An operand behind the factors: a number for each output, or one for all.
template <class T>
class ByOutput {
 public:
  ByOutput(std::span<const Array> inputs, std::size_t operand)
      : at_(operand < inputs.size() ? inputs[operand].data<T>() : nullptr),
        step_(operand < inputs.size() && inputs[operand].type().scalar() ? 0 : 1) {}
  [[nodiscard]] T of(std::int64_t output) const { return at_ ? at_[output * step_] : T(0); }

 private:
  const T* at_;
  std::int64_t step_;
};

/// Writes the sums of one output in the form of the result.
class Rescale {
 public:
  explicit Rescale(const OpCall& call)
      : form_(call.inputs.size()), result_(call.results[0]), bias_(call.inputs, kQuantizedBias), factor_(call.inputs, kQuantizedFactor) {
    if (form_ > kQuantizedZero) zero_ = static_cast<float>(call.inputs[kQuantizedZero].at(0));
  }
  void write(std::int64_t place, std::int64_t output, Wrapping<std::int64_t> sum) {
    const auto whole = static_cast<std::int32_t>((sum + Wrapping<std::int64_t>(bias_.of(output))).value());
    if (form_ <= kQuantizedFactor) {
      result_.mutable_data<std::int32_t>()[place] = whole;
      return;
    }
    const float scaled = static_cast<float>(whole) * factor_.of(output);
    if (form_ <= kQuantizedZero)
      result_.mutable_data<float>()[place] = scaled;
    else if (result_.dtype() == DType::i8)
      result_.mutable_data<std::int8_t>()[place] = convert<std::int8_t>(std::nearbyint(scaled) + zero_);
    else
      result_.mutable_data<std::uint8_t>()[place] = convert<std::uint8_t>(std::nearbyint(scaled) + zero_);
  }

 private:
  std::size_t form_;
  Array& result_;
  ByOutput<std::int32_t> bias_;
  ByOutput<float> factor_;
  float zero_ = 0;
};

/// Calls `body` with zeros of the element types of both factors.
template <class Body>
void dispatch_factors(const OpCall& call, const Body& body) {
  const auto second = [&](auto x) {
    call.inputs[kQuantizedWeight].dtype() == DType::i8 ? body(x, std::int8_t{0}) : body(x, std::uint8_t{0});
  };
  call.inputs[kQuantizedX].dtype() == DType::i8 ? second(std::int8_t{0}) : second(std::uint8_t{0});
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

TypeResult quantized_matmul_type(Types inputs, const Attributes&) {
  constexpr std::string_view op = "quantized_matmul";
  const TensorType &a = inputs[kQuantizedX], &b = inputs[kQuantizedWeight];
  if (a.rank() < 2 || b.rank() < 2) return refuse(DiagnosticKind::shape, op, inputs, "the factors must be matrices");
  if (a.shape.back() != b.shape[b.shape.size() - 2])
    return refuse(
        DiagnosticKind::shape, op, inputs,
        "the inner extents " + std::to_string(a.shape.back()) + " and " + std::to_string(b.shape[b.shape.size() - 2]) + " differ");
  std::optional<Shape> shape = broadcast(leading_axes(a), leading_axes(b));
  if (!shape) return refuse(DiagnosticKind::shape, op, inputs, "the leading axes do not broadcast");
  auto dtype = rescaled_type(op, inputs, b.shape.back());
  if (auto* error = std::get_if<TypeError>(&dtype)) return std::move(*error);
  shape->push_back(a.shape[a.shape.size() - 2]);
  shape->push_back(b.shape.back());
  return give(op, inputs, {std::get<DType>(dtype), *std::move(shape)});
}

Cost quantized_matmul_cost(Types inputs, Types results, const Attributes&) {
  return {2 * static_cast<double>(inputs[0].shape.back()) * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

template <class A, class B>
void multiply(const OpCall& call) {
  std::vector<TensorType> types;
  for (const Array& input : call.inputs) types.push_back(input.type());
  const QuantizedMatmul p = quantized_matmul_of(types);
  const std::int64_t a_zero = call.inputs[kQuantizedXZero].data<A>()[0];
  const ByOutput<B> b_zero(call.inputs, kQuantizedWeightZero);
  Rescale rescale(call);
  std::int64_t place = 0;
  StopLooks looks;
  const auto one = [&](const A* a, const B* b) {
    for (std::int64_t row = 0; row < p.rows; ++row, a += p.inner) {
      for (std::int64_t column = 0; column < p.columns; ++column) {
        looks.worked(p.inner);
        Wrapping<std::int64_t> sum(0);
        for (std::int64_t k = 0; k < p.inner; ++k)
          sum = sum + Wrapping<std::int64_t>((a[k] - a_zero) * (b[k * p.columns + column] - static_cast<std::int64_t>(b_zero.of(column))));
        rescale.write(place++, column, sum);
      }
    }
  };
  const Strides strides[] = {p.a_batch, p.b_batch};
  walk(p.batch, strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    for (std::int64_t i = 0; i < count; ++i)
      one(call.inputs[kQuantizedX].data<A>() + offsets[0] + i * steps[0],
          call.inputs[kQuantizedWeight].data<B>() + offsets[1] + i * steps[1]);
  });
}

Status quantized_matmul_reference(const OpCall& call) {
  dispatch_factors(call, [&](auto a, auto b) { multiply<decltype(a), decltype(b)>(call); });
  return {};
}

// --- convolutions ------------------------------------------------------------------------------------------------------------------------

TypeResult quantized_conv_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "quantized_conv";
  const TensorType &x = inputs[kQuantizedX], &weight = inputs[kQuantizedWeight];
  const auto wrong = [&](const std::string& why) { return refuse(DiagnosticKind::shape, op, inputs, why); };
  if (auto error = check_spatial(op, inputs)) return *std::move(error);
  if (weight.rank() != x.rank()) return wrong("weight must have as many axes as x: outputs, channels of a group, and the window's");
  const std::int64_t groups = attributes.get<std::int64_t>("group"), channels = x.shape[1], outputs = weight.shape[0];
  if (groups < 1) return refuse(DiagnosticKind::value, op, inputs, "`group` must be positive, not " + std::to_string(groups));
  if (channels % groups != 0 || outputs % groups != 0 || weight.shape[1] != channels / groups)
    return wrong("weight is for " + std::to_string(weight.shape[1]) + " channels and " + std::to_string(outputs) + " outputs, x has " +
                 std::to_string(channels) + " channels, in " + std::to_string(groups) + (groups == 1 ? " group" : " groups"));
  auto dtype = rescaled_type(op, inputs, outputs);
  if (auto* error = std::get_if<TypeError>(&dtype)) return std::move(*error);
  auto window = find_window(op, inputs, attributes, std::span(x.shape).subspan(2), std::span(weight.shape).subspan(2));
  if (auto* error = std::get_if<TypeError>(&window)) return std::move(*error);
  return give(op, inputs, {std::get<DType>(dtype), shape_of_windows(x.shape[0], outputs, std::get<Window>(window), x.rank() - 2)});
}

Cost quantized_conv_cost(Types inputs, Types results, const Attributes&) {
  double depth = 1;
  for (std::size_t i = 1; i < inputs[1].shape.size(); ++i) depth *= static_cast<double>(inputs[1].shape[i]);
  return {2 * depth * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

/// The depth of the sum for one element, if it is small, as for `conv`.
WorkForm quantized_conv_form(Types inputs, Types results, const Attributes&) {
  const double depth = static_cast<double>(inputs[1].elements()) / static_cast<double>(std::max<std::int64_t>(1, inputs[1].shape[0]));
  constexpr double kFull = 64;
  if (depth < 1 || depth >= kFull || results[0].elements() == 0) return {};
  return {"depth", depth, kFull, 1};
}

/// The sum over the windows at `first` of the channels of one group. Padding adds nothing.
template <class X, class W>
Wrapping<std::int64_t> window_sum(const Convolution& conv, const X* x, const W* weight, std::int64_t x_zero, std::int64_t weight_zero,
                                  const std::array<std::int64_t, 3>& first, StopLooks& looks) {
  const auto& [a, b, c] = static_cast<const std::array<WindowAxis, 3>&>(conv.window);
  Wrapping<std::int64_t> sum(0);
  for (std::int64_t channel = 0; channel < conv.channels; ++channel, x += conv.window.ins()) {
    for (std::int64_t i = 0; i < a.kernel; ++i) {
      for (std::int64_t j = 0; j < b.kernel; ++j) {
        looks.worked(c.kernel);
        for (std::int64_t k = 0; k < c.kernel; ++k, ++weight) {
          const std::int64_t u = first[0] + i * a.dilation, v = first[1] + j * b.dilation, w = first[2] + k * c.dilation;
          if (u < 0 || u >= a.in || v < 0 || v >= b.in || w < 0 || w >= c.in) continue;
          sum = sum + Wrapping<std::int64_t>((x[(u * b.in + v) * c.in + w] - x_zero) * (*weight - weight_zero));
        }
      }
    }
  }
  return sum;
}

template <class X, class W>
void convolve(const OpCall& call) {
  std::vector<TensorType> types;
  for (const Array& input : call.inputs) types.push_back(input.type());
  const Convolution conv = convolution_of(types, call.attributes);
  const Window& window = conv.window;
  const X* x = call.inputs[kQuantizedX].data<X>();
  const W* weight = call.inputs[kQuantizedWeight].data<W>();
  const std::int64_t x_zero = call.inputs[kQuantizedXZero].data<X>()[0];
  const ByOutput<W> weight_zero(call.inputs, kQuantizedWeightZero);
  Rescale rescale(call);
  StopLooks looks;
  std::int64_t place = 0;
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t output = 0; output < conv.groups * conv.outputs; ++output) {
      const X* channels = x + (n * conv.groups + output / conv.outputs) * conv.channels * window.ins();
      for (std::int64_t p = 0; p < window.outs(); ++p) {
        looks.worked();
        const std::int64_t row = p / window[2].out;
        const std::array<std::int64_t, 3> first = {window[0].first(row / window[1].out), window[1].first(row % window[1].out),
                                                   window[2].first(p % window[2].out)};
        rescale.write(place++, output,
                      window_sum(conv, channels, weight + output * conv.depth(), x_zero, static_cast<std::int64_t>(weight_zero.of(output)),
                                 first, looks));
      }
    }
  }
}

Status quantized_conv_reference(const OpCall& call) {
  dispatch_factors(call, [&](auto x, auto weight) { convolve<decltype(x), decltype(weight)>(call); });
  return {};
}

}  // namespace

QuantizedMatmul quantized_matmul_of(Types inputs) {
  const TensorType &a = inputs[kQuantizedX], &b = inputs[kQuantizedWeight];
  QuantizedMatmul p;
  p.batch = broadcast(leading_axes(a), leading_axes(b)).value_or(Shape{});
  p.rows = a.shape[a.shape.size() - 2];
  p.inner = a.shape.back();
  p.columns = b.shape.back();
  p.a_batch = broadcast_strides(leading_axes(a), p.batch);
  p.b_batch = broadcast_strides(leading_axes(b), p.batch);
  for (std::int64_t& stride : p.a_batch) stride *= p.rows * p.inner;
  for (std::int64_t& stride : p.b_batch) stride *= p.inner * p.columns;
  return p;
}

constexpr OpDef op::quantized_matmul =
    Record(
        "quantized_matmul(x1, x2, x1_zero, x2_zero, bias?, factor?, zero?)", 4, {},
        "matrix product of i8 or u8 minus their zero points, in i32; plus `bias`; times `factor`, in f32; rounded, plus `zero`, and held "
        "to the ends of its type, i8 or u8",
        quantized_matmul_type, quantized_matmul_cost, quantized_matmul_reference)
        .operands(4, 7)
        .of_class(CostClass::product)
        .also_called("MatMulInteger, QLinearMatMul")
        .differentiated(GradientRule::none());

constexpr OpDef op::quantized_conv =
    Record(
        "quantized_conv(x, weight, x_zero, weight_zero, bias?, factor?, zero?, strides?, pads?, dilations?, auto_pad?, group?)", 4,
        [] {
          AttributeDefs attributes = kWindowAttributes;
          attributes.push_back(with_default("group", AttributeDef::Type::integer, std::int64_t{1}));
          return attributes;
        }(),
        "convolution of i8 or u8 minus their zero points, in i32; plus `bias`; times `factor`, in f32; rounded, plus `zero`, and held to "
        "the ends of its type, i8 or u8; windows and groups are those of `conv`",
        quantized_conv_type, quantized_conv_cost, quantized_conv_reference)
        .with_lengths(lengths::first_axis)
        .operands(4, 7)
        .of_class(CostClass::product, quantized_conv_form)
        .also_called("ConvInteger, QLinearConv")
        .differentiated(GradientRule::none());

namespace {

/// The operands, with neutral ones in front of others that are given.
std::vector<Tensor> quantized_operands(std::initializer_list<Tensor> factors, const Requantize& result, const Here& here) {
  std::vector<Tensor> operands = factors;
  if (!result.bias && !result.factor && !result.zero) return operands;
  operands.push_back(result.bias ? *result.bias : zeros({}, {DType::i32}, here));
  if (!result.factor && !result.zero) return operands;
  operands.push_back(result.factor ? *result.factor : ones({}, {DType::f32}, here));
  if (result.zero) operands.push_back(*result.zero);
  return operands;
}

}  // namespace
}  // namespace ops

Tensor quantized_matmul(const Tensor& x1, const Tensor& x2, const Tensor& x1_zero, const Tensor& x2_zero, const Requantize& result,
                        Here here) {
  return ops::call(op::quantized_matmul, ops::quantized_operands({x1, x2, x1_zero, x2_zero}, result, here), {}, here);
}

Tensor quantized_conv(const Tensor& x, const Tensor& weight, const Tensor& x_zero, const Tensor& weight_zero, const Requantize& result,
                      const ConvOptions& options, Here here) {
  return ops::call(op::quantized_conv, ops::quantized_operands({x, weight, x_zero, weight_zero}, result, here),
                   {{"strides", options.strides.list},
                    {"pads", options.pads.list},
                    {"dilations", options.dilations.list},
                    {"auto_pad", options.auto_pad},
                    {"group", options.group}},
                   here);
}

}  // namespace cleave
