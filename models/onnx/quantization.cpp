// Lowerings of quantization and dequantization.
#include "models/onnx/dequantized_constant.h"
#include "models/onnx/narrowing.h"
#include "models/onnx/quantized.h"
#include "models/onnx/quantized_origin.h"

namespace cleave::models::onnx {
namespace {

std::string by_name(Call& c) {
  return "`" + std::string(c.op()) + "`: ";
}

/// Checks the scale, and the granularity that it has; nothing after a mistake.
std::optional<Granularity> granularity(Call& c) {
  const Part &x = c[0], &scale = c[1];
  const std::int64_t given = c.integer("axis", 1), block = c.integer("block_size", 0);
  const auto refuse = [&](DiagnosticKind kind, const std::string& why) {
    c.mistake(kind, by_name(c) + titled(c, 1) + " " + why);
    return std::nullopt;
  };
  if (!is_floating(scale.dtype()) || (c.value(1).narrow && c.value(1).narrow->kind != NarrowType::Kind::power))
    return refuse(DiagnosticKind::type, "must be a scale of floating point");
  if (block < 0) {
    c.mistake(DiagnosticKind::value, by_name(c) + "`block_size` is " + std::to_string(block) + "; it must be 0 or more");
    return std::nullopt;
  }
  if (scale.type().elements() == 1) return Granularity{};
  const std::optional<int> axis = c.axis(x.rank() == 1 ? 0 : given, x.rank());
  if (!axis) return std::nullopt;
  Shape wanted = x.shape();
  std::int64_t& extent = wanted[static_cast<std::size_t>(*axis)];
  const std::string along = " axis " + std::to_string(*axis) + " of " + titled(c, 0);
  if (block == 0) {
    if (scale.shape() == Shape{extent}) return Granularity{*axis, 0};
    return refuse(DiagnosticKind::shape, "must have one element, or the " + std::to_string(extent) + " of" + along);
  }
  extent = (extent + block - 1) / block;
  if (scale.shape() == wanted) return Granularity{*axis, block};
  return refuse(DiagnosticKind::shape,
                "must have one element for each " + std::to_string(block) + " of" + along + ": " + to_string(wanted));
}

/// Whether the zero point, if there is one, fits the scale, and has the element type `wanted`.
bool zero_point_fits(Call& c, const ElementType& wanted, const std::string& whose) {
  if (!c.has(2)) return true;
  const Part &scale = c[1], &zero_point = c[2];
  const ElementType is = element_type(c.value(2));
  if (is.dtype != wanted.dtype || is.narrow != wanted.narrow) {
    c.mistake(DiagnosticKind::type, by_name(c) + titled(c, 2) + " must have the element type of " + whose);
    return false;
  }
  if (zero_point.shape() == scale.shape() || (zero_point.type().elements() == 1 && scale.type().elements() == 1)) return true;
  c.mistake(DiagnosticKind::shape, by_name(c) + titled(c, 2) + " must have the shape of the scale, " + titled(c, 1));
  return false;
}

/// Expands values given for each block to the blocks' elements.
Part of_blocks(Call& c, const Part& blocks, const Granularity& by) {
  const Part repeated = c(op::repeat, {blocks}, {{"repeats", by.block}, {"axis", by.axis}});
  const Shape shape = c[0].shape();
  if (repeated.shape() == shape) return repeated;
  return c(op::slice, {repeated}, {{"starts", Shape(shape.size(), 0)}, {"stops", shape}});
}

/// A scale or zero point, shaped to broadcast over x.
Part over_elements(Call& c, const Part& part, const Granularity& by) {
  if (by.block > 0) return of_blocks(c, part, by);
  return along(c, whole_or_vector(c, part), static_cast<int>(by.axis) - c[0].rank());
}

/// The element type that an attribute names; nothing for 0, and after a mistake.
std::optional<ElementType> named_type(Call& c, const char* attribute) {
  return c.integer(attribute, 0) == 0 ? std::nullopt : c.element(attribute);
}
/// Whether the attribute names a type that cleave lacks, which was reported.
bool lacks_type(Call& c, const char* attribute, const std::optional<ElementType>& found) {
  return !found && c.integer(attribute, 0) != 0;
}

// --- QuantizeLinear ----------------------------------------------------------------------------------------------------------------------

bool is_quantized_type(const ElementType& type) {
  if (type.narrow) return type.narrow->kind != NarrowType::Kind::power;
  return is_integer(type.dtype) && size_of(type.dtype) <= 2;
}

/// The steps of x in a narrow floating-point type; zero points are 0.
Value quantized_float(Call& c, const Part& x, const Part& scale, const ElementType& to, const Granularity& by, bool saturate) {
  const DType wide = promote(promote(x.dtype(), scale.dtype()), DType::f32);
  Part steps = c.divide(c.as(wide, x), over_elements(c, c.as(wide, scale), by));
  if (c.has(2) && to.narrow->format.specials == SmallFloat::Specials::finite) steps = c.add(steps, over_elements(c, c.as(wide, c[2]), by));
  return converted(c, steps, to, {.saturate = saturate});
}

Part quantized_integer(Call& c, const Part& x, const Part& scale, DType dtype, const Granularity& by) {
  if (by.block == 0) {
    Parts operands{x, scale};
    if (c.has(2)) operands.push_back(whole_or_vector(c, c[2]));
    return c(op::quantize, operands, {{"axis", by.axis}, {"dtype", dtype}});
  }
  const DType wide = promote(promote(x.dtype(), scale.dtype()), DType::f32);
  Part steps = c(op::round, {c.divide(c.as(wide, x), of_blocks(c, c.as(wide, scale), by))});
  if (c.has(2)) steps = c.add(steps, of_blocks(c, c.as(wide, c[2]), by));
  return c.as(dtype, steps);
}

Values quantize_linear(Call& c) {
  const bool saturate = c.flag("saturate", true);
  const std::optional<ElementType> wanted = named_type(c, "output_dtype"), precision = named_type(c, "precision");
  const std::optional<Granularity> by = granularity(c);
  if (!by || lacks_type(c, "output_dtype", wanted) || lacks_type(c, "precision", precision)) return c.poison();
  const ElementType to = wanted ? *wanted : c.has(2) ? element_type(c.value(2)) : ElementType{DType::u8};
  if (!is_quantized_type(to) || c.value(0).narrow)
    return c.mistake(DiagnosticKind::type,
                     by_name(c) + (c.value(0).narrow ? titled(c, 0) + " is quantized already"
                                                     : "the result must be of at most 16 bits, an integer or a float"));
  if (!zero_point_fits(c, to, "`output_dtype`")) return c.poison();
  if (by->block == 0 && !to.narrow && !precision)
    if (const std::optional<Part> y = requantized_product(c, to.dtype)) return {*y};
  Part x = is_floating(c[0].dtype()) ? c[0] : c.as(DType::f32, c[0]), scale = whole_or_vector(c, c[1]);
  if (precision) x = c.as(precision->dtype, x), scale = c.as(precision->dtype, scale);
  if (to.narrow && to.narrow->kind == NarrowType::Kind::floating) return {quantized_float(c, x, scale, to, *by, saturate)};
  Part y = quantized_integer(c, x, scale, to.dtype, *by);
  if (to.narrow) {
    const Part least = c.number_as(to.dtype, static_cast<double>(to.narrow->least()));
    const Part most = c.number_as(to.dtype, static_cast<double>(to.narrow->most()));
    y = c(op::clip, {y, least, most});
  }
  return {{y, to.narrow}};
}

// --- DequantizeLinear --------------------------------------------------------------------------------------------------------------------

/// The result for operands that are constants, computed now; nothing if one is no constant. `scale` has the type of the result.
std::optional<Values> dequantized_now(Call& c, DType type, const Granularity& by) {
  const std::optional<Array> x = c.constant_operand(0), scale = c.constant_operand(1);
  const std::optional<Array> zero_point = c.has(2) ? c.constant_operand(2) : std::nullopt;
  if (!x || !scale || c.has(2) != zero_point.has_value() || scale->dtype() != type) return std::nullopt;
  Result<Array> result = dequantized(*x, *scale, zero_point, by);
  if (!result) return c.mistake(DiagnosticKind::machine, by_name(c) + result.error().message);
  return Values{c.constant(*std::move(result))};
}

/// The integers that the result stands for; null where no product of integers can take them.
std::shared_ptr<const QuantizedOrigin> origin_of(Call& c, DType type, const Granularity& by) {
  const DType steps = c[0].dtype();
  if (type != DType::f32 || c[1].dtype() != type || by.block > 0 || c.value(0).narrow) return nullptr;
  if (steps != DType::i8 && steps != DType::u8 && steps != DType::i32) return nullptr;
  auto origin = std::make_shared<QuantizedOrigin>();
  origin->integers = {c[0], whole_or_vector(c, c[1]), c.has(2) ? std::optional(whole_or_vector(c, c[2])) : std::nullopt, by.axis};
  return origin;
}

Values dequantize_linear(Call& c) {
  const std::optional<ElementType> wanted = named_type(c, "output_dtype");
  const std::optional<Granularity> by = granularity(c);
  if (!by || lacks_type(c, "output_dtype", wanted)) return c.poison();
  const Value& x = c.value(0);
  const bool quantized = x.narrow ? x.narrow->kind != NarrowType::Kind::power
                                  : is_integer(x.part.dtype()) && size_of(x.part.dtype()) <= 4 && x.part.dtype() != DType::u32;
  if (!quantized)
    return c.mistake(DiagnosticKind::type,
                     by_name(c) + titled(c, 0) + " must be quantized: an integer of at most 32 bits, or a narrow type");
  if (!zero_point_fits(c, element_type(x), titled(c, 0))) return c.poison();
  if (wanted && (wanted->narrow || !is_floating(wanted->dtype)))
    return c.mistake(DiagnosticKind::type, by_name(c) + "`output_dtype` must be a floating-point type of 16 bits or more");
  const DType type = wanted ? wanted->dtype : c[1].dtype();
  if (std::optional<Values> now = dequantized_now(c, type, *by)) {
    now->front().origin = origin_of(c, type, *by);
    return *std::move(now);
  }
  const Part scale = c.as(type, whole_or_vector(c, c[1]));
  if (by->block == 0 && !is_floating(x.part.dtype())) {
    Parts operands{c[0], scale};
    if (c.has(2)) operands.push_back(whole_or_vector(c, c[2]));
    Value y(c(op::dequantize, operands, {{"axis", by->axis}}));
    y.origin = origin_of(c, type, *by);
    return {std::move(y)};
  }
  const DType wide = promote(type, DType::f32);
  Part steps = c.as(wide, c[0]);
  if (c.has(2)) steps = c.subtract(steps, over_elements(c, c.as(wide, c[2]), *by));
  const Part factor = over_elements(c, c.as(wide, scale), *by);
  return {c.as(type, c.multiply(steps, factor))};
}

// --- DynamicQuantizeLinear ---------------------------------------------------------------------------------------------------------------

Values dynamic_quantize_linear(Call& c) {
  const DynamicallyQuantized y = dynamically_quantized(c, c[0]);
  return {y.steps, y.scale, y.zero_point};
}

}  // namespace

std::span<const Lowering> quantization_lowerings() {
  static constexpr Lowering kRows[] = {
      {"DequantizeLinear", 10, dequantize_linear},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
      {"QuantizeLinear", 10, quantize_linear},
      {"com.microsoft.DequantizeLinear", 1, dequantize_linear},
      {"com.microsoft.QuantizeLinear", 1, quantize_linear},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
