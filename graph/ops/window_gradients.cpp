// Gradients of convolutions and pools by their operands, each linear in the gradient of the result and the adjoint of another operation:
// conv_input_gradient and conv_weight_gradient of conv, avg_pool_gradient of avg_pool, max_pool_gradient of max_pool_gather.
#include "graph/ops/window_gradients.h"

#include <cmath>
#include <limits>
#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

// --- types -------------------------------------------------------------------------------------------------------------------------------

/// `shape` with the spatial extents of an attribute behind its first two; one number is for all axes.
std::optional<Shape> with_extents(Shape first, const Integers& extents, int spatial) {
  if (extents.size() != 1 && extents.size() != static_cast<std::size_t>(spatial)) return std::nullopt;
  for (int axis = 0; axis < spatial; ++axis) {
    first.push_back(extents[extents.size() == 1 ? 0 : static_cast<std::size_t>(axis)]);
    if (first.back() < 0) return std::nullopt;
  }
  return first;
}

std::optional<TypeError> check_gradient(std::string_view op, Types inputs) {
  for (const TensorType& input : inputs) {
    if (!is_floating(input.dtype)) return refuse(DiagnosticKind::type, op, inputs, "needs floating-point numbers; convert with astype");
    if (input.dtype != inputs[0].dtype) return refuse(DiagnosticKind::type, op, inputs, "the element types differ");
    if (input.rank() != inputs[0].rank()) return refuse(DiagnosticKind::shape, op, inputs, "the operands have different numbers of axes");
  }
  return check_spatial(op, inputs);
}

/// `result`, if the forward operation takes `forward` and gives the type of the gradient.
TypeResult fits(std::string_view op, Types inputs, const OpDef& forward_op, Types forward, const Attributes& attributes,
                const TensorType& gradient, const TensorType& result) {
  if (!checked_bytes(result)) return refuse(DiagnosticKind::shape, op, inputs, "the result would be too large");
  const TypeResult there = forward_op.type_rule(forward, attributes);
  if (const auto* error = std::get_if<TypeError>(&there)) return refuse(error->kind, op, inputs, error->message);
  const TensorType& expected = std::get<0>(there).front();
  if (expected == gradient) return give(op, inputs, result);
  return refuse(DiagnosticKind::shape, op, inputs,
                "the result of `" + std::string(forward_op.name) + "` is " + to_string(expected) + ", so its gradient has that shape too");
}

TypeError wrong_extents(std::string_view op, Types inputs, std::string_view attribute) {
  return refuse(DiagnosticKind::value, op, inputs, "`" + std::string(attribute) + "` needs one number, or one for each spatial axis");
}

TensorType convolved_type(Types inputs, const Attributes& attributes, const Shape& extents) {
  TensorType x{inputs[0].dtype, {inputs[0].shape[0], 0}};
  if (__builtin_mul_overflow(inputs[1].shape[1], attributes.get<std::int64_t>("group"), &x.shape[1]) || x.shape[1] < 0) x.shape[1] = 0;
  x.shape.insert(x.shape.end(), extents.begin(), extents.end());
  return x;
}

constexpr Name kInputGradient{"conv_input_gradient"};
constexpr Name kWeightGradient{"conv_weight_gradient"};
constexpr Name kMaxPoolGradient{"max_pool_gradient"};
constexpr Name kMaxPoolGather{"max_pool_gather"};
constexpr Name kAvgPoolGradient{"avg_pool_gradient"};

TypeResult input_gradient_type(Types inputs, const Attributes& attributes) {
  if (auto error = check_gradient(kInputGradient.view(), inputs)) return *std::move(error);
  const auto extents = with_extents({}, attributes.get<Integers>("extents"), inputs[0].rank() - 2);
  if (!extents) return wrong_extents(kInputGradient.view(), inputs, "extents");
  const TensorType forward[] = {convolved_type(inputs, attributes, *extents), inputs[1]};
  return fits(kInputGradient.view(), inputs, op::conv, forward, attributes, inputs[0], forward[0]);
}

TypeResult weight_gradient_type(Types inputs, const Attributes& attributes) {
  if (auto error = check_gradient(kWeightGradient.view(), inputs)) return *std::move(error);
  const std::int64_t groups = std::max<std::int64_t>(1, attributes.get<std::int64_t>("group"));
  auto shape =
      with_extents({inputs[1].shape[1], inputs[0].shape[1] / groups}, attributes.get<Integers>("kernel_shape"), inputs[0].rank() - 2);
  if (!shape) return wrong_extents(kWeightGradient.view(), inputs, "kernel_shape");
  const TensorType forward[] = {inputs[0], {inputs[0].dtype, *std::move(shape)}};
  return fits(kWeightGradient.view(), inputs, op::conv, forward, attributes, inputs[1], forward[1]);
}

TypeResult max_pool_gradient_type(Types inputs, const Attributes& attributes) {
  if (auto error = check_gradient(kMaxPoolGradient.view(), inputs)) return *std::move(error);
  return fits(kMaxPoolGradient.view(), inputs, op::max_pool, inputs.first(1), attributes, inputs[1], inputs[0]);
}

TypeResult max_pool_gather_type(Types inputs, const Attributes& attributes) {
  if (auto error = check_gradient(kMaxPoolGather.view(), inputs)) return *std::move(error);
  if (inputs[0].shape != inputs[1].shape)
    return refuse(DiagnosticKind::shape, kMaxPoolGather.view(), inputs, "x and values have different shapes");
  return op::max_pool.type_rule(inputs.first(1), attributes);
}

TypeResult avg_pool_gradient_type(Types inputs, const Attributes& attributes) {
  if (auto error = check_gradient(kAvgPoolGradient.view(), inputs)) return *std::move(error);
  const TensorType& g = inputs[0];
  auto shape = with_extents({g.shape[0], g.shape[1]}, attributes.get<Integers>("extents"), g.rank() - 2);
  if (!shape) return wrong_extents(kAvgPoolGradient.view(), inputs, "extents");
  const TensorType x{g.dtype, *std::move(shape)};
  return fits(kAvgPoolGradient.view(), inputs, op::avg_pool, std::span(&x, 1), attributes, g, x);
}

// --- costs -------------------------------------------------------------------------------------------------------------------------------

/// The types of x, weight and result of the convolution.
struct ConvolutionTypes {
  std::vector<TensorType> operands;
  TensorType result;
};
ConvolutionTypes types_of_input_gradient(Types inputs, Types results) {
  return {{results[0], inputs[1]}, inputs[0]};
}
ConvolutionTypes types_of_weight_gradient(Types inputs, Types results) {
  return {{inputs[0], results[0]}, inputs[1]};
}

template <ConvolutionTypes (*types)(Types, Types)>
Cost convolution_gradient_cost(Types inputs, Types results, const Attributes& attributes) {
  const ConvolutionTypes of = types(inputs, results);
  return {op::conv.cost(of.operands, std::span(&of.result, 1), attributes).flops, traffic(inputs, results)};
}
template <ConvolutionTypes (*types)(Types, Types)>
WorkForm convolution_gradient_form(Types inputs, Types results, const Attributes& attributes) {
  const ConvolutionTypes of = types(inputs, results);
  return op::conv.form(of.operands, std::span(&of.result, 1), attributes);
}

/// An operation for each element of each window; `pooled`: elements of the result of the pool.
Cost windows_cost(const Window& window, const TensorType& pooled, Types inputs, Types results) {
  return {static_cast<double>(window.taps()) * static_cast<double>(pooled.elements()), traffic(inputs, results)};
}
Cost max_pool_gradient_cost(Types inputs, Types results, const Attributes& attributes) {
  return windows_cost(pool_window(inputs[0], attributes), inputs[1], inputs, results);
}
Cost max_pool_gather_cost(Types inputs, Types results, const Attributes& attributes) {
  return windows_cost(pool_window(inputs[0], attributes), results[0], inputs, results);
}
Cost avg_pool_gradient_cost(Types inputs, Types results, const Attributes& attributes) {
  return windows_cost(pool_window(results[0], attributes), inputs[0], inputs, results);
}

// --- reference implementations -----------------------------------------------------------------------------------------------------------

/// Calls `body(tap, at)` for each tap of window `p` that is inside the channel, with the offset of its element.
template <class Body>
void each_tap(const Window& window, std::int64_t p, StopLooks& looks, const Body& body) {
  const auto& [a, b, c] = static_cast<const std::array<WindowAxis, 3>&>(window);
  const std::int64_t row = p / c.out, at[] = {row / b.out, row % b.out, p % c.out};
  const Taps outer = taps_inside(a, at[0], false), middle = taps_inside(b, at[1], false), inner = taps_inside(c, at[2], false);
  looks.worked(16);
  for (std::int64_t i = outer.begin; i < outer.end; ++i) {
    for (std::int64_t j = middle.begin; j < middle.end; ++j) {
      looks.worked(inner.count());
      for (std::int64_t k = inner.begin; k < inner.end; ++k) {
        const std::int64_t u = a.first(at[0]) + i * a.dilation, v = b.first(at[1]) + j * b.dilation, w = c.first(at[2]) + k * c.dilation;
        body((i * b.kernel + j) * c.kernel + k, (u * b.in + v) * c.in + w);
      }
    }
  }
}

/// Calls `body(in, out, weight)` with the offsets of the elements of each product of a convolution.
template <class Body>
void each_product(const Convolution& conv, const Body& body) {
  const std::int64_t ins = conv.window.ins(), outs = conv.window.outs(), taps = conv.window.taps();
  StopLooks looks;
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t output = 0; output < conv.groups * conv.outputs; ++output) {
      const std::int64_t from = (n * conv.groups + output / conv.outputs) * conv.channels;
      for (std::int64_t c = 0; c < conv.channels; ++c) {
        for (std::int64_t p = 0; p < outs; ++p) {
          each_tap(conv.window, p, looks, [&](std::int64_t tap, std::int64_t at) {
            body((from + c) * ins + at, (n * conv.groups * conv.outputs + output) * outs + p, (output * conv.channels + c) * taps + tap);
          });
        }
      }
    }
  }
}

/// Rounds sums to the elements of a result, each once.
template <class T>
void store_sums(const std::vector<double>& sums, Array& result) {
  StopLooks looks;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    looks.worked();
    result.mutable_data<T>()[i] = store<T>(sums[i]);
  }
}

template <class Body>
void in_floating(const Array& result, const Body& body) {
  dispatch(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) body(zero);
  });
}

template <bool by_weight>
Status convolution_gradient_reference(const OpCall& call) {
  const TensorType types[] = {call.inputs[0].type(), call.inputs[1].type()};
  const Convolution conv =
      by_weight ? convolution_of_weight_gradient(types, call.attributes) : convolution_of_input_gradient(types, call.attributes);
  if (call.results[0].size() == 0) return {};
  in_floating(call.results[0], [&](auto zero) {
    using T = decltype(zero);
    const T *left = call.inputs[0].data<T>(), *right = call.inputs[1].data<T>();
    std::vector<double> sums(static_cast<std::size_t>(call.results[0].size()), 0.0);
    each_product(conv, [&](std::int64_t in, std::int64_t out, std::int64_t weight) {
      if constexpr (by_weight) {
        sums[static_cast<std::size_t>(weight)] += widen(left[in]) * widen(right[out]);
      } else {
        sums[static_cast<std::size_t>(in)] += widen(left[out]) * widen(right[weight]);
      }
    });
    store_sums<T>(sums, call.results[0]);
  });
  return {};
}

/// The offset of the largest element of a window: the first of several, or the last NaN; -1 if the window has no element.
template <class T>
std::int64_t place_of_largest(const Window& window, std::int64_t p, const T* x, StopLooks& looks) {
  std::int64_t place = -1;
  double most = 0;
  each_tap(window, p, looks, [&](std::int64_t, std::int64_t at) {
    const double element = widen(x[at]);
    if (place >= 0 && !(element > most) && !std::isnan(element)) return;
    most = element;
    place = at;
  });
  return place;
}

/// Calls `body(channel, p, place)` for each window p of each channel and the place of its largest element.
template <class T, class Body>
void each_largest(const Array& x, const Attributes& attributes, const Body& body) {
  const Window window = pool_window(x.type(), attributes);
  StopLooks looks;
  for (std::int64_t channel = 0; channel < x.shape()[0] * x.shape()[1]; ++channel) {
    for (std::int64_t p = 0; p < window.outs(); ++p) {
      const std::int64_t place = place_of_largest(window, p, x.data<T>() + channel * window.ins(), looks);
      if (place >= 0) body(channel * window.outs() + p, channel * window.ins() + place);
    }
  }
}

Status max_pool_gradient_reference(const OpCall& call) {
  in_floating(call.results[0], [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> sums(static_cast<std::size_t>(call.results[0].size()), 0.0);
    each_largest<T>(call.inputs[0], call.attributes, [&](std::int64_t p, std::int64_t place) {
      sums[static_cast<std::size_t>(place)] += widen(call.inputs[1].data<T>()[p]);
    });
    store_sums<T>(sums, call.results[0]);
  });
  return {};
}

Status max_pool_gather_reference(const OpCall& call) {
  in_floating(call.results[0], [&](auto zero) {
    using T = decltype(zero);
    each_largest<T>(call.inputs[0], call.attributes,
                    [&](std::int64_t p, std::int64_t place) { call.results[0].mutable_data<T>()[p] = call.inputs[1].data<T>()[place]; });
  });
  return {};
}

Status avg_pool_gradient_reference(const OpCall& call) {
  const Window window = pool_window(call.results[0].type(), call.attributes);
  const bool padding = call.attributes.get<bool>("count_include_pad");
  if (call.results[0].size() == 0) return {};
  in_floating(call.results[0], [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> sums(static_cast<std::size_t>(call.results[0].size()), 0.0);
    const T* g = call.inputs[0].data<T>();
    StopLooks looks;
    for (std::int64_t i = 0; i < call.inputs[0].size(); ++i) {
      const std::int64_t channel = i / window.outs(), p = i % window.outs(), row = p / window[2].out;
      const std::int64_t places[] = {row / window[1].out, row % window[1].out, p % window[2].out};
      double share = widen(g[i]);
      for (std::size_t a = 0; a < kMostSpatial; ++a) share /= static_cast<double>(taps_inside(window[a], places[a], padding).count());
      each_tap(window, p, looks,
               [&](std::int64_t, std::int64_t at) { sums[static_cast<std::size_t>(channel * window.ins() + at)] += share; });
    }
    store_sums<T>(sums, call.results[0]);
  });
  return {};
}

// --- records -----------------------------------------------------------------------------------------------------------------------------

constexpr AttributeDefs convolution_gradient_attributes(std::string_view extents) {
  AttributeDefs attributes{required(extents, Type::integers)};
  for (const AttributeDef& def : kWindowAttributes) attributes.push_back(def);
  attributes.push_back(with_default("group", Type::integer, std::int64_t{1}));
  return attributes;
}

constexpr AttributeDefs pool_gradient_attributes(bool of_means) {
  AttributeDefs attributes;
  if (of_means) attributes.push_back(required("extents", Type::integers));
  attributes.push_back(required("kernel_shape", Type::integers));
  for (const AttributeDef& def : kWindowAttributes) attributes.push_back(def);
  attributes.push_back(with_default("ceil_mode", Type::boolean, false));
  if (of_means) attributes.push_back(with_default("count_include_pad", Type::boolean, false));
  return attributes;
}

}  // namespace

Convolution convolution_of_input_gradient(Types inputs, const Attributes& attributes) {
  const auto extents = with_extents({}, attributes.get<Integers>("extents"), inputs[0].rank() - 2);
  CLEAVE_CHECK(extents, "the type rule was not asked");
  const TensorType forward[] = {convolved_type(inputs, attributes, *extents), inputs[1]};
  return convolution_of(forward, attributes);
}

Convolution convolution_of_weight_gradient(Types inputs, const Attributes& attributes) {
  const TypeResult weight = weight_gradient_type(inputs, attributes);
  CLEAVE_CHECK(weight.index() == 0, "the type rule was not asked");
  const TensorType forward[] = {inputs[0], std::get<0>(weight).front()};
  return convolution_of(forward, attributes);
}

TensorType averaged_type(const TensorType& gradient, const Attributes& attributes) {
  auto shape = with_extents({gradient.shape[0], gradient.shape[1]}, attributes.get<Integers>("extents"), gradient.rank() - 2);
  CLEAVE_CHECK(shape, "the type rule was not asked");
  return {gradient.dtype, *std::move(shape)};
}

constexpr OpDef op::conv_input_gradient =
    Record("conv_input_gradient(gradient, weight, extents, strides?, pads?, dilations?, auto_pad?, group?)", 2,
           convolution_gradient_attributes("extents"),
           "the gradient of `conv(x, weight)` by x, of the spatial `extents`, from that by its result", input_gradient_type,
           convolution_gradient_cost<types_of_input_gradient>, convolution_gradient_reference<false>)
        .promoting(Promotion::floating)
        .of_class(CostClass::product, convolution_gradient_form<types_of_input_gradient>)
        .also_called("conv2d_input")
        .differentiated(gradients::conv_input_gradient);

constexpr OpDef op::conv_weight_gradient =
    Record("conv_weight_gradient(x, gradient, kernel_shape, strides?, pads?, dilations?, auto_pad?, group?)", 2,
           convolution_gradient_attributes("kernel_shape"),
           "the gradient of `conv(x, weight)` by weight, of windows `kernel_shape`, from that by its result", weight_gradient_type,
           convolution_gradient_cost<types_of_weight_gradient>, convolution_gradient_reference<true>)
        .promoting(Promotion::floating)
        .of_class(CostClass::product, convolution_gradient_form<types_of_weight_gradient>)
        .also_called("conv2d_weight")
        .differentiated(gradients::conv_weight_gradient);

constexpr OpDef op::max_pool_gradient =
    Record("max_pool_gradient(x, gradient, kernel_shape, strides?, pads?, dilations?, auto_pad?, ceil_mode?)", 2,
           pool_gradient_attributes(false),
           "the gradient of `max_pool(x)` by x from that by its result: for each window, at the first of its largest elements",
           max_pool_gradient_type, max_pool_gradient_cost, max_pool_gradient_reference)
        .promoting(Promotion::floating)
        .of_class(CostClass::scan)
        .also_called("MaxUnpool, max_unpool2d")
        .differentiated(gradients::max_pool_gradient);

constexpr OpDef op::max_pool_gather =
    Record("max_pool_gather(x, values, kernel_shape, strides?, pads?, dilations?, auto_pad?, ceil_mode?)", 2,
           pool_gradient_attributes(false),
           "for each window of `max_pool(x)`, the element of `values` where x is largest, the first such one", max_pool_gather_type,
           max_pool_gather_cost, max_pool_gather_reference)
        .promoting(Promotion::floating)
        .of_class(CostClass::scan)
        .differentiated(gradients::max_pool_gather);

constexpr OpDef op::avg_pool_gradient =
    Record("avg_pool_gradient(gradient, extents, kernel_shape, strides?, pads?, dilations?, auto_pad?, ceil_mode?, count_include_pad?)", 1,
           pool_gradient_attributes(true), "the gradient of `avg_pool(x)` by x, of the spatial `extents`, from that by its result",
           avg_pool_gradient_type, avg_pool_gradient_cost, avg_pool_gradient_reference)
        .promoting(Promotion::floating)
        .of_class(CostClass::scan)
        .differentiated(gradients::avg_pool_gradient);

}  // namespace cleave::ops
