// quantize and dequantize: composite functions of divisions, roundings and conversions. Values to be rounded are computed in at least f32.
#include "graph/ops/quantization.h"

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

/// The mistake in the scale or the zero point; nothing if they are valid for x.
std::optional<TypeError> misfit(std::string_view op, Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &scale = inputs[1];
  if (!is_floating(scale.dtype)) return refuse(DiagnosticKind::type, op, inputs, "the scale must be floating");
  if (inputs.size() > 2 && inputs[2].shape != scale.shape)
    return refuse(DiagnosticKind::shape, op, inputs, "the zero point must have the shape of the scale, " + to_string(scale.shape));
  if (scale.scalar()) return std::nullopt;
  const auto axis = attributes.get<std::int64_t>("axis");
  const auto along = find_axis(axis, x.rank());
  if (!along) return no_axis(op, inputs, axis, x.rank());
  const std::int64_t extent = x.shape[static_cast<std::size_t>(*along)];
  if (scale.rank() != 1 || scale.shape[0] != extent)
    return refuse(DiagnosticKind::shape, op, inputs,
                  "the scale must be a scalar or have the " + std::to_string(extent) + " elements of axis " + std::to_string(axis));
  return std::nullopt;
}

bool is_small(DType dtype) {
  return is_integer(dtype) && size_of(dtype) <= 4 && dtype != DType::u32;
}

TypeResult quantize_type(Types inputs, const Attributes& attributes) {
  if (!is_floating(inputs[0].dtype)) return refuse(DiagnosticKind::type, "quantize", inputs, "x must be floating");
  if (auto wrong = misfit("quantize", inputs, attributes)) return *std::move(wrong);
  const auto* wanted = attributes.get_if<DType>("dtype");
  const DType dtype = inputs.size() > 2 ? inputs[2].dtype : wanted ? *wanted : DType::u8;
  if (!is_small(dtype))
    return refuse(DiagnosticKind::type, "quantize", inputs, std::string(to_string(dtype)) + " is none of i8, u8, i16, u16 and i32");
  if (wanted && *wanted != dtype)
    return refuse(DiagnosticKind::type, "quantize", inputs, "`dtype` differs from the type of the zero point; leave it out");
  return give("quantize", inputs, {dtype, inputs[0].shape});
}

TypeResult dequantize_type(Types inputs, const Attributes& attributes) {
  if (!is_small(inputs[0].dtype)) return refuse(DiagnosticKind::type, "dequantize", inputs, "x must be of i8, u8, i16, u16 or i32");
  if (auto wrong = misfit("dequantize", inputs, attributes)) return *std::move(wrong);
  if (inputs.size() > 2 && inputs[2].dtype != inputs[0].dtype)
    return refuse(DiagnosticKind::type, "dequantize", inputs, "the zero point must have the type of x");
  return give("dequantize", inputs, {inputs[1].dtype, inputs[0].shape});
}

/// A scale or zero point of several elements, with axes of extent 1 behind so that it broadcasts along its axis.
Part along_axis(Composer& c, const Part& part, const Part& x, const Attributes& attributes) {
  if (part.rank() == 0) return part;
  Shape shape(static_cast<std::size_t>(x.rank() - *find_axis(attributes.get<std::int64_t>("axis"), x.rank())), 1);
  shape[0] = part.shape()[0];
  return c.reshape(part, std::move(shape));
}

/// The common type of x and the scale, at least f32.
DType computed_in(const Part& x, const Part& scale) {
  return promote(promote(x.dtype(), scale.dtype()), DType::f32);
}

std::vector<Part> expand_quantize(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const Part &x = inputs[0], &scale = inputs[1];
  const DType wide = computed_in(x, scale);
  Part steps = c(op::round, {c.divide(c.as(wide, x), along_axis(c, c.as(wide, scale), x, attributes))});
  if (inputs.size() > 2) steps = c.add(steps, along_axis(c, c.as(wide, inputs[2]), x, attributes));
  const DType result = inputs.size() > 2 ? inputs[2].dtype() : attributes.get_or<DType>("dtype", DType::u8);
  return {c.as(result, steps)};
}

std::vector<Part> expand_dequantize(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const Part &x = inputs[0], &scale = inputs[1];
  const DType wide = promote(scale.dtype(), DType::f32);
  Part steps = x;
  // i32 differences wrap, as in ONNX. Differences of smaller integers may exceed their type, so they are computed in `wide`.
  if (inputs.size() > 2 && x.dtype() == DType::i32) steps = c.subtract(x, along_axis(c, inputs[2], x, attributes));
  steps = c.as(wide, steps);
  if (inputs.size() > 2 && x.dtype() != DType::i32) steps = c.subtract(steps, along_axis(c, c.as(wide, inputs[2]), x, attributes));
  return {c.as(scale.dtype(), c.multiply(steps, along_axis(c, c.as(wide, scale), x, attributes)))};
}

}  // namespace

namespace {

constexpr AttributeDef kChannelAxis = with_default("axis", Type::integer, std::int64_t{1});

}  // namespace

constexpr OpDef op::quantize =
    Record("quantize(x, scale, zero_point?, axis?, dtype?)", 3, {kChannelAxis, optional("dtype", Type::dtype)},
           "`round(x / scale) + zero_point`, held to the ends of the integer type: that of the zero point, else `dtype`, else u8",
           quantize_type, expand_quantize)
        .operands(2, 3);

constexpr OpDef op::dequantize = Record("dequantize(x, scale, zero_point?, axis?)", 3, {kChannelAxis},
                                        "`(x - zero_point) * scale`, of the scale's type", dequantize_type, expand_dequantize)
                                     .operands(2, 3);

namespace {

Tensor call_with_zero_point(const OpDef& function, const Tensor& x, const Tensor& scale, const std::optional<Tensor>& zero_point,
                            Attributes attributes, const Here& here) {
  if (zero_point) return call(function, {x, scale, *zero_point}, std::move(attributes), here);
  return call(function, {x, scale}, std::move(attributes), here);
}

}  // namespace
}  // namespace ops

Tensor quantize(const Tensor& x, const Tensor& scale, const QuantizeOptions& options, Here here) {
  Attributes attributes = ops::axis(std::optional<int>(options.axis));
  ops::set(attributes, "dtype", options.dtype);
  return ops::call_with_zero_point(op::quantize, x, scale, options.zero_point, std::move(attributes), here);
}

Tensor dequantize(const Tensor& x, const Tensor& scale, const DequantizeOptions& options, Here here) {
  return ops::call_with_zero_point(op::dequantize, x, scale, options.zero_point, ops::axis(std::optional<int>(options.axis)), here);
}

}  // namespace cleave
