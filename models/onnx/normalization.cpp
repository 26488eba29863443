#include "models/onnx/normalization.h"

#include <algorithm>

#include "models/onnx/broadcasting.h"

namespace cleave::models::onnx {

Parts alike(Call& c, Parts parts) {
  DType widest = parts[0].dtype();
  for (const Part& part : parts) widest = promote(widest, part.dtype());
  for (Part& part : parts) part = c.as(widest, part);
  return parts;
}

WithStatistics normalized_with_statistics(Call& c, const Part& x, std::int64_t axis, double epsilon, bool with_mean) {
  std::vector<std::int64_t> axes;
  for (std::int64_t each = axis; each < x.rank(); ++each) axes.push_back(each);
  const Attributes over{{"axis", axes}, {"keepdims", true}};
  const Part wide = c.as(promote(x.dtype(), DType::f32), x);
  const Part mean = with_mean ? c(op::mean, {wide}, over) : Part();
  const Part distance = with_mean ? c.subtract(wide, mean) : wide;
  const Part factor = c(op::rsqrt, {c.add(c(op::mean, {c(op::square, {distance})}, over), epsilon)});
  return {c.multiply(distance, factor), mean, factor};
}

namespace {

using Integers = std::vector<std::int64_t>;

double epsilon(Call& c) {
  return c.number("epsilon", 1e-5F);
}

// --- over the batch ----------------------------------------------------------------------------------------------------------------------

/// The results in training: the normalized value, the running statistics, and before version 14 also those of this batch.
Values train(Call& c, Parts operands) {
  const double momentum = c.number("momentum", 0.9F);
  const Part x = c.as(promote(c[0].dtype(), DType::f32), c[0]);
  Integers axes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != 1) axes.push_back(axis);
  const Part mean = c(op::mean, {x}, {{"axis", axes}}), variance = c(op::var, {x}, {{"axis", axes}});
  const auto running = [&](const Part& before, const Part& now) {
    return c.as(before.dtype(), c.add(c.multiply(before, momentum), c.multiply(now, 1 - momentum)));
  };
  operands[3] = mean, operands[4] = variance;
  Values results{c.as(c[0].dtype(), c(op::batch_norm, alike(c, operands), {{"epsilon", epsilon(c)}}))};
  results.insert(results.end(), {running(c[3], mean), running(c[4], variance)});
  if (c.version() < 14) results.insert(results.end(), {c.as(c[3].dtype(), mean), c.as(c[4].dtype(), variance)});
  return results;
}

/// Before version 14, a node with more than one result is in training mode.
Values batch_normalization(Call& c) {
  c.ignore({"consumed_inputs", "momentum"});
  if (c.version() < 9 && !c.flag("spatial", true)) return c.unsupported("with `spatial` = 0");
  const bool trains = c.version() >= 14 ? c.flag("training_mode") : c.results() > 1 && !(c.version() < 7 && c.flag("is_test"));
  if (c.version() < 7) c.ignore({"is_test"});
  if (trains) return train(c, c.parts());
  return {c.as(c[0].dtype(), c(op::batch_norm, alike(c, c.parts()), {{"epsilon", epsilon(c)}}))};
}

// --- over the last axes ------------------------------------------------------------------------------------------------------------------

/// Whether operand `i` broadcasts to the normalized axes alone, as the vocabulary's functions require.
bool meets_rows(Call& c, std::size_t i, int axis) {
  const Shape shape = c[0].shape(), rows(shape.begin() + axis, shape.end());
  return !c.has(i) || broadcast(c[i].shape(), rows) == rows;
}

/// Applies `function` with scale and bias if their shapes allow it; else without, followed by a multiplication and an addition.
Part over_rows(Call& c, const OpDef& function, int axis) {
  const Attributes attributes{{"axis", std::int64_t{axis}}, {"epsilon", epsilon(c)}};
  if (c.has(1) && meets_rows(c, 1, axis) && meets_rows(c, 2, axis)) return c(function, alike(c, c.parts()), attributes);
  Part y = c(function, {c[0]}, attributes);
  if (c.has(1)) y = c.multiply(y, c[1]);
  return c.has(2) ? c.add(y, c[2]) : y;
}

/// Scale and bias are applied before the result is converted to its type.
Values layer_with_statistics(Call& c, int axis, DType statistics) {
  const WithStatistics all = normalized_with_statistics(c, c[0], axis, epsilon(c), true);
  Part y = c.multiply(all.normalized, c[1]);
  if (c.has(2)) y = c.add(y, c[2]);
  return {c.as(c[0].dtype(), y), c.as(statistics, all.mean), c.as(statistics, all.factor)};
}

Values layer_normalization(Call& c) {
  const DType statistics = c.has_attribute("stash_type") ? c.dtype("stash_type").value_or(DType::f32) : DType::f32;
  const std::optional<int> axis = c.axis(c.integer("axis", -1), c[0].rank());
  if (!axis) return c.poison();
  if (c.wants(1) || c.wants(2)) return layer_with_statistics(c, *axis, statistics);
  return {c.as(c[0].dtype(), over_rows(c, op::layer_norm, *axis))};
}

/// The result has the type of the scale.
Values rms_normalization(Call& c) {
  c.ignore({"stash_type"});  // f32, or the wider operand type
  const std::optional<int> axis = c.axis(c.integer("axis", -1), c[0].rank());
  return axis ? Values{c.as(c[1].dtype(), over_rows(c, op::rms_norm, *axis))} : c.poison();
}

/// ONNX Runtime's older form of RMSNormalization, with the factor as second result.
Values simplified_normalization(Call& c) {
  if (!c.wants(1)) return rms_normalization(c);
  c.ignore({"stash_type"});
  const std::optional<int> axis = c.axis(c.integer("axis", -1), c[0].rank());
  if (!axis) return c.poison();
  const WithStatistics all = normalized_with_statistics(c, c[0], *axis, epsilon(c), false);
  return {c.as(c[1].dtype(), c.multiply(all.normalized, c[1])), all.factor};
}

// --- over groups and channels ------------------------------------------------------------------------------------------------------------

/// Before version 21, scale and bias have one element for each group; since then, one for each channel.
Values group_normalization(Call& c) {
  c.ignore({"stash_type"});
  const std::optional<std::int64_t> groups = c.integer("num_groups");
  const Shape shape = c[0].shape();
  if (!groups || shape.size() < 2 || *groups < 1 || shape[1] % *groups != 0)
    return c.mistake(DiagnosticKind::value,
                     "`GroupNormalization` needs `num_groups` that divide the channels of " + to_string(c[0].type()));
  Parts operands = alike(c, c.parts());
  if (c.version() < 21 && *groups != shape[1])
    for (std::size_t i = 1; i < operands.size(); ++i) operands[i] = c(op::repeat, {operands[i]}, {{"repeats", shape[1] / *groups}});
  return {c.as(c[0].dtype(), c(op::group_norm, operands, {{"num_groups", *groups}, {"epsilon", epsilon(c)}}))};
}

Values instance_normalization(Call& c) {
  c.ignore({"consumed_inputs"});
  return {c(op::instance_norm, c.parts(), {{"epsilon", epsilon(c)}})};
}

// --- others ------------------------------------------------------------------------------------------------------------------------------

Values lp_normalization(Call& c) {
  return {c(op::lp_norm, {c[0]}, {{"axis", c.integer("axis", -1)}, {"p", c.integer("p", 2)}})};
}

/// The sum over neighboring channels, divided by their number, is an average pool over the axis of channels.
Values lrn(Call& c) {
  const std::optional<std::int64_t> size = c.integer("size");
  const Shape shape = c[0].shape();
  if (!size || *size < 1 || shape.size() < 2) return c.mistake(DiagnosticKind::value, "`LRN` needs a `size` of 1 or more, and channels");
  std::int64_t rest = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) rest *= shape[axis];
  const Part squares = c.reshape(c(op::square, {c[0]}), {shape[0], 1, shape[1], rest});
  const std::int64_t before = (*size - 1) / 2;
  const Attributes window{
      {"kernel_shape", Integers{*size, 1}}, {"pads", Integers{before, 0, *size - 1 - before, 0}}, {"count_include_pad", true}};
  const Part means = c.reshape(c(op::avg_pool, {squares}, window), shape);
  const double alpha = c.number("alpha", 1e-4F), beta = c.number("beta", 0.75), bias = c.number("bias", 1);
  return {c.divide(c[0], c(op::pow, {c.add(c.multiply(means, alpha), bias), beta}))};
}

/// Before version 9, two flags said over which axes, and whether the deviation counts.
Values mean_variance_normalization(Call& c) {
  Integers axes = c.integers("axes").value_or(Integers{0, 2, 3});
  bool divides = true;
  if (c.version() < 9) {
    if (c.flag("across_channels")) axes = {0, 1, 2, 3};
    divides = c.flag("normalize_variance", true);
  }
  const Attributes over{{"axis", axes}, {"keepdims", true}};
  const Part x = c.as(promote(c[0].dtype(), DType::f32), c[0]);
  const Part distance = c.subtract(x, c(op::mean, {x}, over));
  if (!divides) return {c.as(c[0].dtype(), distance)};
  const Part deviation = c(op::sqrt, {c(op::mean, {c(op::square, {distance})}, over)});
  return {c.as(c[0].dtype(), c.divide(distance, c.add(deviation, 1e-9)))};
}

}  // namespace

std::span<const Lowering> normalization_lowerings() {
  static constexpr Lowering kRows[] = {
      {"BatchNormalization", 1, batch_normalization},
      {"GroupNormalization", 18, group_normalization},
      {"InstanceNormalization", 1, instance_normalization},
      {"LRN", 1, lrn},
      {"LayerNormalization", 1, layer_normalization},  // below 17 as ONNX Runtime defines it
      {"LpNormalization", 1, lp_normalization},
      {"MeanVarianceNormalization", 1, mean_variance_normalization},
      {"SpatialBN", 1, batch_normalization},
      {"RMSNormalization", 23, rms_normalization},
      {"SimplifiedLayerNormalization", 1, simplified_normalization},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
