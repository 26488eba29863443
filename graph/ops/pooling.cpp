// max_pool and avg_pool: the largest element or the mean of each window over 1 to 3 spatial axes, with ONNX's attributes.
// global_max_pool and global_average_pool are composite functions, over the whole of each channel.
#include "graph/ops/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/base/stop.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/sums.h"
#include "graph/trace/composer.h"

namespace cleave::ops {
namespace {

constexpr Name kMaxPool{"max_pool"};
constexpr Name kAvgPool{"avg_pool"};
constexpr Name kGlobalMax{"global_max_pool"};
constexpr Name kGlobalAverage{"global_average_pool"};

std::variant<Window, TypeError> find_pool(std::string_view op, Types inputs, const Attributes& attributes) {
  const std::span<const std::int64_t> extents = std::span(inputs[0].shape).subspan(2);
  Integers kernel = attributes.get<Integers>("kernel_shape");
  if (kernel.size() == 1) kernel.resize(extents.size(), kernel[0]);
  if (kernel.size() != extents.size()) {
    return refuse(DiagnosticKind::value, op, inputs,
                  "`kernel_shape` has " + std::to_string(kernel.size()) + " numbers; give one, or one for each spatial axis");
  }
  const Pooling pooling{attributes.get<bool>("ceil_mode")};
  return find_window(op, inputs, attributes, extents, kernel, &pooling);
}

template <Name name>
TypeResult pool_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (!is_floating(x.dtype)) return refuse(DiagnosticKind::type, name.view(), inputs, "needs floating-point numbers; convert with astype");
  if (auto error = check_spatial(name.view(), inputs)) return *std::move(error);
  auto window = find_pool(name.view(), inputs, attributes);
  if (auto* error = std::get_if<TypeError>(&window)) return std::move(*error);
  return give(name.view(), inputs, {x.dtype, shape_of_windows(x.shape[0], x.shape[1], std::get<Window>(window), x.rank() - 2)});
}

Cost pool_cost(Types inputs, Types results, const Attributes& attributes) {
  return {static_cast<double>(pool_window(inputs[0], attributes).taps()) * static_cast<double>(results[0].elements()),
          traffic(inputs, results)};
}

/// Calls `body(offset)` for each element of a channel that window `p` covers.
template <class Body>
void each_covered(const Window& window, std::int64_t p, StopLooks& looks, const Body& body) {
  looks.worked(16);
  const auto& [a, b, c] = static_cast<const std::array<WindowAxis, 3>&>(window);
  const std::int64_t row = p / c.out;
  const std::int64_t at[] = {row / b.out, row % b.out, p % c.out};
  const Taps outer = taps_inside(a, at[0], false), middle = taps_inside(b, at[1], false), inner = taps_inside(c, at[2], false);
  for (std::int64_t i = outer.begin; i < outer.end; ++i) {
    for (std::int64_t j = middle.begin; j < middle.end; ++j) {
      looks.worked(inner.count());
      for (std::int64_t k = inner.begin; k < inner.end; ++k) {
        const std::int64_t u = a.first(at[0]) + i * a.dilation, v = b.first(at[1]) + j * b.dilation, w = c.first(at[2]) + k * c.dilation;
        body((u * b.in + v) * c.in + w);
      }
    }
  }
}

/// Computes each element of the result: `element(p, x)` for window `p` of a channel with the elements `x(i)`.
template <class Element>
Status each_window(const OpCall& call, const Window& window, const Element& element) {
  const Shape& shape = call.inputs[0].shape();
  dispatch(call.results[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      const T* x = call.inputs[0].data<T>();
      T* y = call.results[0].mutable_data<T>();
      for (std::int64_t channel = 0; channel < shape[0] * shape[1]; ++channel, x += window.ins()) {
        for (std::int64_t p = 0; p < window.outs(); ++p) *y++ = store<T>(element(p, [&](std::int64_t at) { return widen(x[at]); }));
      }
    }
  });
  return {};
}

Status max_pool_reference(const OpCall& call) {
  const Window window = pool_window(call.inputs[0].type(), call.attributes);
  StopLooks looks;
  return each_window(call, window, [&](std::int64_t p, const auto& x) {
    double most = -std::numeric_limits<double>::infinity();
    each_covered(window, p, looks, [&](std::int64_t at) { most = x(at) > most || std::isnan(x(at)) ? x(at) : most; });
    return most;
  });
}

Status avg_pool_reference(const OpCall& call) {
  const Window window = pool_window(call.inputs[0].type(), call.attributes);
  const bool padding = call.attributes.get<bool>("count_include_pad");
  StopLooks looks;
  return each_window(call, window, [&](std::int64_t p, const auto& x) {
    double sum = 0;
    each_covered(window, p, looks, [&](std::int64_t at) { sum += x(at); });
    const std::int64_t row = p / window[2].out;
    const std::int64_t places[] = {row / window[1].out, row % window[1].out, p % window[2].out};
    for (std::size_t a = 0; a < kMostSpatial; ++a) sum /= static_cast<double>(taps_inside(window[a], places[a], padding).count());
    return sum;
  });
}

// --- global pooling ----------------------------------------------------------------------------------------------------------------------

template <Name name>
TypeResult global_type(Types inputs, const Attributes&) {
  if (auto error = check_spatial(name.view(), inputs)) return *std::move(error);
  const auto spatial = std::span(inputs[0].shape).subspan(2);
  if (name.view() == kGlobalMax.view() && std::find(spatial.begin(), spatial.end(), 0) != spatial.end())
    return refuse(DiagnosticKind::shape, name.view(), inputs, "there are no elements to choose from");
  Shape shape(inputs[0].shape.size(), 1);
  std::copy_n(inputs[0].shape.begin(), 2, shape.begin());
  return give(name.view(), inputs, {inputs[0].dtype, std::move(shape)});
}

Attributes over_channels(const Part& x) {
  Integers axes;
  for (std::int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return {{"axis", std::move(axes)}, {"keepdims", true}};
}

Parts expand_global_max(Composer& c, const Parts& inputs, const Attributes&) {
  return {c(op::max, {inputs[0]}, over_channels(inputs[0]))};
}
Parts expand_global_average(Composer& c, const Parts& inputs, const Attributes&) {
  return {c(op::mean, {inputs[0]}, over_channels(inputs[0]))};
}

}  // namespace

Window pool_window(const TensorType& x, const Attributes& attributes) {
  const auto window = find_pool("pool", std::span(&x, 1), attributes);
  CLEAVE_CHECK(window.index() == 0, "the type rule was not asked");
  return std::get<Window>(window);
}

Taps taps_inside(const WindowAxis& axis, std::int64_t window, bool padding) {
  const std::int64_t first = axis.first(window), begin = padding ? -axis.before : 0, end = axis.in + (padding ? axis.after : 0);
  const auto taps_before = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place > first ? (place - first + axis.dilation - 1) / axis.dilation : 0, 0, axis.kernel);
  };
  return {taps_before(begin), taps_before(end)};
}

namespace {

constexpr AttributeDefs pool_attributes(bool counts_padding) {
  AttributeDefs attributes{required("kernel_shape", AttributeDef::Type::integers)};
  for (const AttributeDef& def : kWindowAttributes) attributes.push_back(def);
  attributes.push_back(with_default("ceil_mode", AttributeDef::Type::boolean, false));
  if (counts_padding) attributes.push_back(with_default("count_include_pad", AttributeDef::Type::boolean, false));
  return attributes;
}

}  // namespace

constexpr OpDef op::max_pool =
    Record("max_pool(x, kernel_shape, strides?, pads?, dilations?, auto_pad?, ceil_mode?)", 1, pool_attributes(false),
           "largest element of each window over the axes behind batch and channels, as ONNX's; NaN where there is one", pool_type<kMaxPool>,
           pool_cost, max_pool_reference)
        .with_lengths(lengths::first_axis)
        .promoting(Promotion::floating)
        .of_class(CostClass::scan)
        .also_called("MaxPool, max_pool1d, max_pool2d, max_pool3d")
        .differentiated(gradients::max_pool);

constexpr OpDef op::avg_pool =
    Record("avg_pool(x, kernel_shape, strides?, pads?, dilations?, auto_pad?, ceil_mode?, count_include_pad?)", 1, pool_attributes(true),
           "mean of each window over the axes behind batch and channels, as ONNX's", pool_type<kAvgPool>, pool_cost, avg_pool_reference)
        .with_lengths(lengths::first_axis)
        .promoting(Promotion::floating)
        .of_class(CostClass::scan)
        .also_called("AveragePool, avg_pool1d, avg_pool2d, avg_pool3d")
        .differentiated(gradients::avg_pool);

constexpr OpDef op::global_max_pool = Record("global_max_pool(x)", 1, {}, "largest element of each channel, its axes kept with extent 1",
                                             global_type<kGlobalMax>, expand_global_max)
                                          .with_lengths(lengths::first_axis)
                                          .promoting(Promotion::floating);

constexpr OpDef op::global_average_pool = Record("global_average_pool(x)", 1, {}, "mean of each channel, its axes kept with extent 1",
                                                 global_type<kGlobalAverage>, expand_global_average)
                                              .with_lengths(lengths::first_axis)
                                              .promoting(Promotion::floating);

}  // namespace cleave::ops
