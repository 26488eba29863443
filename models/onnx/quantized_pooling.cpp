// Lowerings of ONNX Runtime's pools and means of quantized values.
#include "models/onnx/quantized.h"
#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Values qlinear_average_pool(Call& c) {
  const bool last = c.flag("channels_last");
  std::optional<Attributes> attributes = pool_attributes(c);
  const bool with_padding = c.flag("count_include_pad");
  if (!attributes || !is_quantized(c, 0, 3)) return c.poison();
  attributes->set("count_include_pad", with_padding);
  const Part mean = c(op::avg_pool, {channels_first(c, dequantized(c, 0), last)}, *std::move(attributes));
  const Part steps = c.divide(channels_back(c, mean, last), whole_or_vector(c, c[3]));
  return {c.as(c[0].dtype(), c(op::round, {c.add(steps, zero_point_of(c, 4))}))};
}

Values nhwc_max_pool(Call& c) {
  std::optional<Attributes> attributes = pool_attributes(c);
  if (!attributes || !are_small_integers(c, {0})) return c.poison();
  const Part y = c(op::max_pool, {channels_first(c, c[0], true)}, *std::move(attributes));
  return {channels_back(c, c.as(c[0].dtype(), y), true)};
}

/// The mean of integers, by their exact sum.
Values qlinear_global_average_pool(Call& c) {
  const bool last = c.flag("channels_last");
  if (!is_quantized(c, 0, 3)) return c.poison();
  const Shape shape = c[0].shape();
  if (shape.size() < 3) return c.mistake(DiagnosticKind::shape, "`QLinearGlobalAveragePool` of " + titled(c, 0) + ", which has no windows");
  Integers axes;
  std::int64_t count = 1;
  for (std::size_t i = last ? 1 : 2; i < shape.size() - (last ? 1 : 0); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
    count *= shape[i];
  }
  const Part sum = c(op::sum, {centred(c, 0, 2, DType::i32, -1)}, {{"axis", axes}, {"keepdims", true}});
  const Part whole = c.multiply(whole_or_vector(c, c[3]), static_cast<double>(count));
  const Part ratio = c.divide(whole_or_vector(c, c[1]), whole);
  const Part steps = c(op::round, {c.multiply(c.as(DType::f32, sum), ratio)});
  return {c.as(c[0].dtype(), c.add(steps, zero_point_of(c, 4)))};
}

Values qlinear_reduce_mean(Call& c) {
  const Integers axes = c.integers("axes").value_or(Integers());
  const bool keeps = c.flag("keepdims", true);
  if (!is_quantized(c, 0, 3)) return c.poison();
  Attributes attributes{{"keepdims", keeps}};
  if (!axes.empty()) attributes.set("axis", axes);
  return {requantized(c, c(op::mean, {dequantized(c, 0)}, std::move(attributes)), 0, 3)};
}

}  // namespace

std::span<const Lowering> quantized_pooling_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.NhwcMaxPool", 1, nhwc_max_pool},
      {"com.microsoft.QLinearAveragePool", 1, qlinear_average_pool},
      {"com.microsoft.QLinearGlobalAveragePool", 1, qlinear_global_average_pool},
      {"com.microsoft.QLinearReduceMean", 1, qlinear_reduce_mean},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
