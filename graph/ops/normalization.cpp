// Normalizations: composite functions of means, squares and arithmetic, which fuse to one pass over rows if rows fit. Statistics of f16 and
// bf16 are computed in f32.
#include <cmath>

#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/widened.h"
#include "graph/trace/composer.h"

namespace cleave::ops {
namespace {

constexpr Name kBatch{"batch_norm"};
constexpr Name kLayer{"layer_norm"};
constexpr Name kRms{"rms_norm"};
constexpr Name kGroup{"group_norm"};
constexpr Name kInstance{"instance_norm"};
constexpr Name kLp{"lp_norm"};

std::string size_text(std::int64_t n) {
  return std::to_string(n);
}

// --- type rules --------------------------------------------------------------------------------------------------------------------------

std::optional<TypeError> check_types(std::string_view op, Types inputs, const Attributes& attributes) {
  for (const TensorType& input : inputs) {
    if (!is_floating(input.dtype)) return refuse(DiagnosticKind::type, op, inputs, "needs floating-point numbers; convert with astype");
    if (input.dtype != inputs[0].dtype) return refuse(DiagnosticKind::type, op, inputs, "the element types differ");
  }
  const auto* epsilon = attributes.get_if<double>("epsilon");
  if (epsilon && !(*epsilon >= 0 && std::isfinite(*epsilon)))
    return refuse(DiagnosticKind::value, op, inputs, "`epsilon` must be a number that is not negative");
  return std::nullopt;
}

/// Checks that each operand after x has one number for each channel.
std::optional<TypeError> check_channels(std::string_view op, Types inputs) {
  constexpr std::string_view kWhat[] = {"x", "scale", "bias", "mean", "variance"};
  if (inputs[0].rank() < 2) return refuse(DiagnosticKind::shape, op, inputs, "x must have a batch axis and a channel axis");
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape != Shape{inputs[0].shape[1]})
      return refuse(DiagnosticKind::shape, op, inputs,
                    std::string(kWhat[i]) + " must have the shape [" + size_text(inputs[0].shape[1]) + "]: a number for each channel of x");
  }
  return std::nullopt;
}

template <Name name>
TypeResult by_channels(Types inputs, const Attributes& attributes) {
  if (auto error = check_types(name.view(), inputs, attributes)) return *std::move(error);
  if (auto error = check_channels(name.view(), inputs)) return *std::move(error);
  if (const auto* groups = attributes.get_if<std::int64_t>("num_groups")) {
    if (*groups < 1 || inputs[0].shape[1] % *groups != 0) {
      return refuse(DiagnosticKind::value, name.view(), inputs,
                    "the " + size_text(inputs[0].shape[1]) + " channels of x do not divide into " + size_text(*groups) + " groups");
    }
  }
  return give(name.view(), inputs, inputs[0]);
}

/// The type rule of functions that normalize over the axes from `axis` on. Scale and bias must broadcast to these axes.
template <Name name>
TypeResult by_rows(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (auto error = check_types(name.view(), inputs, attributes)) return *std::move(error);
  const auto axis = find_axis(attributes.get<std::int64_t>("axis"), x.rank());
  if (!axis) return no_axis(name.view(), inputs, attributes.get<std::int64_t>("axis"), x.rank());
  const Shape rows(x.shape.begin() + *axis, x.shape.end());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (broadcast(inputs[i].shape, rows) != rows)
      return refuse(DiagnosticKind::shape, name.view(), inputs,
                    (i == 1 ? "scale" : "bias") + std::string(" does not broadcast to the normalized axes ") + to_string(rows));
  }
  return give(name.view(), inputs, x);
}

TypeResult lp_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (auto error = check_types(kLp.view(), inputs, attributes)) return *std::move(error);
  if (!find_axis(attributes.get<std::int64_t>("axis"), x.rank()))
    return no_axis(kLp.view(), inputs, attributes.get<std::int64_t>("axis"), x.rank());
  const std::int64_t p = attributes.get<std::int64_t>("p");
  if (p != 1 && p != 2) return refuse(DiagnosticKind::value, kLp.view(), inputs, "`p` must be 1 or 2, not " + size_text(p));
  return give(kLp.view(), inputs, x);
}

// --- expansions --------------------------------------------------------------------------------------------------------------------------

Part wide(Composer& c, const Part& x) {
  return c.as(widened(x.dtype()), x);
}

/// Attributes that name the axes from `first` on.
Attributes axes_from(const Part& x, std::int64_t first) {
  Integers axes;
  for (std::int64_t axis = first < 0 ? first + x.rank() : first; axis < x.rank(); ++axis) axes.push_back(axis);
  return {{"axis", std::move(axes)}, {"keepdims", true}};
}

/// 1 / sqrt(mean(x * x) + epsilon) over some axes.
Part scale_of(Composer& c, const Part& x, const Attributes& over, double epsilon) {
  return c(op::rsqrt, {c.add(c(op::mean, {c(op::square, {x})}, over), epsilon)});
}
/// (x - mean) / standard deviation over some axes.
Part standard(Composer& c, const Part& x, const Attributes& over, double epsilon) {
  const Part distance = c.subtract(x, c(op::mean, {x}, over));
  return c.multiply(distance, scale_of(c, distance, over, epsilon));
}
/// [channels] reshaped to broadcast with x.
Part beside(Composer& c, const Part& channels, const Part& x) {
  Shape shape(static_cast<std::size_t>(x.rank() - 1), 1);
  shape[0] = x.shape()[1];
  return c.reshape(wide(c, channels), shape);
}

Parts expand_batch(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part &x = inputs[0], mean = wide(c, inputs[3]), variance = wide(c, inputs[4]);
  const Part factor = c.multiply(wide(c, inputs[1]), c(op::rsqrt, {c.add(variance, attributes.get<double>("epsilon"))}));
  const Part shift = c.subtract(wide(c, inputs[2]), c.multiply(mean, factor));
  return {c.as(x.dtype(), c.add(c.multiply(wide(c, x), beside(c, factor, x)), beside(c, shift, x)))};
}

template <bool centred>
Parts expand_rows(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part x = wide(c, inputs[0]);
  const Attributes over = axes_from(x, attributes.get<std::int64_t>("axis"));
  const double epsilon = attributes.get<double>("epsilon");
  Part y = centred ? standard(c, x, over, epsilon) : c.multiply(x, scale_of(c, x, over, epsilon));
  if (inputs.size() > 1) y = c.multiply(y, wide(c, inputs[1]));
  if (inputs.size() > 2) y = c.add(y, wide(c, inputs[2]));
  return {c.as(inputs[0].dtype(), y)};
}

Parts expand_group(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part x = wide(c, inputs[0]);
  const Shape shape = x.shape();
  const std::int64_t groups = attributes.get_or<std::int64_t>("num_groups", shape[1]);
  std::int64_t count = groups > 0 ? shape[1] / groups : 0;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) count *= shape[axis];
  const Part rows = c.reshape(x, {shape[0], groups, count});
  const Part y = c.reshape(standard(c, rows, {{"axis", Integers{2}}, {"keepdims", true}}, attributes.get<double>("epsilon")), shape);
  return {c.as(inputs[0].dtype(), c.add(c.multiply(y, beside(c, inputs[1], x)), beside(c, inputs[2], x)))};
}

Parts expand_lp(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part x = wide(c, inputs[0]);
  const Attributes over{{"axis", Integers{attributes.get<std::int64_t>("axis")}}, {"keepdims", true}};
  const bool squares = attributes.get<std::int64_t>("p") == 2;
  const Part sum = c(op::sum, {c(squares ? op::square : op::abs, {x})}, over), norm = squares ? c(op::sqrt, {sum}) : sum;
  return {c.as(inputs[0].dtype(), c.divide(x, c(op::where, {c(op::equal, {norm, 0}), 1, norm})))};
}

}  // namespace

namespace {

constexpr AttributeDef kEpsilon = with_default("epsilon", AttributeDef::Type::number, 1e-5);

}  // namespace

constexpr OpDef op::batch_norm = Record("batch_norm(x, scale, bias, mean, variance, epsilon?)", 5, {kEpsilon},
                                        "`(x - mean) / sqrt(variance + epsilon) * scale + bias`, all given by channel (as in inference)",
                                        by_channels<kBatch>, expand_batch)
                                     .with_lengths(lengths::first_axis)
                                     .promoting(Promotion::floating)
                                     .also_called("BatchNormalization");

constexpr OpDef op::layer_norm = Record("layer_norm(x, scale?, bias?, axis?, epsilon?)", 3, {kLastAxis, kEpsilon},
                                        "x less its mean over the axes from `axis` on, divided by its deviation; times scale, plus bias",
                                        by_rows<kLayer>, expand_rows<true>)
                                     .with_lengths(lengths::rows)
                                     .operands(1, 3)
                                     .promoting(Promotion::floating)
                                     .also_called("LayerNormalization");

constexpr OpDef op::rms_norm =
    Record("rms_norm(x, scale?, axis?, epsilon?)", 2, {kLastAxis, kEpsilon},
           "x divided by the root of its mean square over the axes from `axis` on; times scale", by_rows<kRms>, expand_rows<false>)
        .with_lengths(lengths::rows)
        .operands(1, 2)
        .promoting(Promotion::floating)
        .also_called("RMSNormalization");

constexpr OpDef op::group_norm =
    Record("group_norm(x, scale, bias, num_groups, epsilon?)", 3, {required("num_groups", AttributeDef::Type::integer), kEpsilon},
           "as layer_norm, over groups of channels; scale and bias are by channel", by_channels<kGroup>, expand_group)
        .promoting(Promotion::floating)
        .also_called("GroupNormalization");

constexpr OpDef op::instance_norm =
    Record("instance_norm(x, scale, bias, epsilon?)", 3, {kEpsilon}, "as layer_norm, over each channel; scale and bias are by channel",
           by_channels<kInstance>, expand_group)
        .promoting(Promotion::floating)
        .also_called("InstanceNormalization");

constexpr OpDef op::lp_norm =
    Record("lp_norm(x, axis?, p?)", 1, {kLastAxis, with_default("p", AttributeDef::Type::integer, std::int64_t{2})},
           "x divided by its p-norm (1 or 2) along an axis; zeros stay", lp_type, expand_lp)
        .promoting(Promotion::floating);

}  // namespace cleave::ops
