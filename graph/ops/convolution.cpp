// conv: convolution as in neural networks (a cross-correlation: the kernel is not flipped), over 1 to 3 spatial axes, with ONNX's layouts
// and attributes.
#include "graph/ops/convolution.h"

#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

std::span<const std::int64_t> spatial(const TensorType& type) {
  return std::span(type.shape).subspan(2);
}

std::string number(std::int64_t n) {
  return std::to_string(n);
}

/// Checks channels, groups and the bias.
std::optional<TypeError> check_channels(Types inputs, std::int64_t groups) {
  const auto wrong = [&](const std::string& reason, DiagnosticKind kind = DiagnosticKind::shape) {
    return refuse(kind, "conv", inputs, reason);
  };
  const std::int64_t channels = inputs[0].shape[1], outputs = inputs[1].shape[0], each = inputs[1].shape[1];
  if (groups < 1) return wrong("`group` must be positive, not " + number(groups), DiagnosticKind::value);
  if (channels % groups != 0) return wrong("the " + number(channels) + " channels of x do not divide into " + number(groups) + " groups");
  if (outputs % groups != 0) return wrong("the " + number(outputs) + " outputs of weight do not divide into " + number(groups) + " groups");
  if (each != channels / groups) {
    return wrong("weight is for " + number(each) + " channels a group, x has " + number(channels / groups) +
                 (groups == 1 ? "" : " in each of " + number(groups) + " groups"));
  }
  if (inputs.size() > 2 && inputs[2].shape != Shape{outputs})
    return wrong("bias must have the shape [" + number(outputs) + "]: a number for each output of weight");
  return std::nullopt;
}

TypeResult conv_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &weight = inputs[1];
  for (const TensorType& input : inputs)
    if (input.dtype != x.dtype) return refuse(DiagnosticKind::type, "conv", inputs, "the element types differ");
  if (!is_floating(x.dtype)) return refuse(DiagnosticKind::type, "conv", inputs, "needs floating-point numbers; convert with astype");
  if (auto error = check_spatial("conv", inputs)) return *std::move(error);
  if (weight.rank() != x.rank()) {
    return refuse(DiagnosticKind::shape, "conv", inputs,
                  "weight must have as many axes as x: outputs, channels of a group, and " + number(x.rank() - 2) + " of the window");
  }
  if (auto error = check_channels(inputs, attributes.get<std::int64_t>("group"))) return *std::move(error);
  auto window = find_window("conv", inputs, attributes, spatial(x), spatial(weight));
  if (auto* error = std::get_if<TypeError>(&window)) return std::move(*error);
  return give("conv", inputs, {x.dtype, shape_of_windows(x.shape[0], weight.shape[0], std::get<Window>(window), x.rank() - 2)});
}

Cost conv_cost(Types inputs, Types results, const Attributes&) {
  double depth = 1;
  for (std::size_t i = 1; i < inputs[1].shape.size(); ++i) depth *= static_cast<double>(inputs[1].shape[i]);
  return {2 * depth * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

/// The depth of the sum for one element, if it is small. It distinguishes depthwise convolutions from others.
WorkForm conv_form(Types inputs, Types results, const Attributes&) {
  const double depth = static_cast<double>(inputs[1].elements()) / static_cast<double>(std::max<std::int64_t>(1, inputs[1].shape[0]));
  constexpr double kFull = 64;
  if (depth < 1 || depth >= kFull || results[0].elements() == 0) return {};
  return {"depth", depth, kFull, 1};
}

/// The sum of products over one window of one channel.
template <class T>
Accumulator<T> window_sum(const Window& window, const T* x, const T* weight, const std::array<std::int64_t, 3>& first, StopLooks& looks) {
  const auto& [a, b, c] = static_cast<const std::array<WindowAxis, 3>&>(window);
  Accumulator<T> sum = 0;
  for (std::int64_t i = 0; i < a.kernel; ++i) {
    for (std::int64_t j = 0; j < b.kernel; ++j) {
      looks.worked(c.kernel);
      for (std::int64_t k = 0; k < c.kernel; ++k, ++weight) {
        const std::int64_t u = first[0] + i * a.dilation, v = first[1] + j * b.dilation, w = first[2] + k * c.dilation;
        const bool inside = u >= 0 && u < a.in && v >= 0 && v < b.in && w >= 0 && w < c.in;
        if (inside) sum = sum + widen(x[(u * b.in + v) * c.in + w]) * widen(*weight);
      }
    }
  }
  return sum;
}

template <class T>
void convolve(const Convolution& conv, const T* x, const T* weight, const T* bias, T* y) {
  const Window& window = conv.window;
  StopLooks looks;
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t output = 0; output < conv.groups * conv.outputs; ++output) {
      const T* channels = x + (n * conv.groups + output / conv.outputs) * conv.channels * window.ins();
      const T* weights = weight + output * conv.depth();
      for (std::int64_t p = 0; p < window.outs(); ++p) {
        const std::int64_t row = p / window[2].out;
        const std::array<std::int64_t, 3> first = {window[0].first(row / window[1].out), window[1].first(row % window[1].out),
                                                   window[2].first(p % window[2].out)};
        looks.worked();
        Accumulator<T> sum = bias ? widen(bias[output]) : Accumulator<T>(0);
        for (std::int64_t c = 0; c < conv.channels; ++c)
          sum = sum + window_sum(window, channels + c * window.ins(), weights + c * window.taps(), first, looks);
        *y++ = store<T>(sum);
      }
    }
  }
}

Status conv_reference(const OpCall& call) {
  std::vector<TensorType> types;
  for (const Array& input : call.inputs) types.push_back(input.type());
  const Convolution conv = convolution_of(types, call.attributes);
  dispatch(call.results[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    convolve(conv, call.inputs[0].data<T>(), call.inputs[1].data<T>(), call.inputs.size() > 2 ? call.inputs[2].data<T>() : nullptr,
             call.results[0].mutable_data<T>());
  });
  return {};
}

}  // namespace

Convolution convolution_of(Types inputs, const Attributes& attributes) {
  const std::int64_t groups = attributes.get<std::int64_t>("group");
  const auto window = find_window("conv", inputs, attributes, spatial(inputs[0]), spatial(inputs[1]));
  CLEAVE_CHECK(window.index() == 0, "the type rule was not asked");
  return {inputs[0].shape[0], groups, inputs[1].shape[1], inputs[1].shape[0] / groups, std::get<Window>(window)};
}

constexpr OpDef op::conv =
    Record(
        "conv(x, weight, bias?, strides?, pads?, dilations?, auto_pad?, group?)", 2,
        [] {
          AttributeDefs attributes = kWindowAttributes;
          attributes.push_back(with_default("group", AttributeDef::Type::integer, std::int64_t{1}));
          return attributes;
        }(),
        "convolution over the 1 to 3 axes behind batch and channels, as ONNX's; weight is `[outputs, channels / group, "
        "window…]`, and `pads` are one number, one an axis, or all before and then all behind",
        conv_type, conv_cost, conv_reference)
        .with_lengths(lengths::first_axis)
        .operands(2, 3)
        .promoting(Promotion::floating)
        .of_class(CostClass::product, conv_form)
        .also_called("Conv, conv1d, conv2d, conv3d")
        .differentiated(gradients::conv);

}  // namespace cleave::ops
