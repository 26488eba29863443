// zeros, ones, full, arange and eye: tensors created from attributes alone.
#include <cmath>
#include <limits>

#include "graph/array/range.h"
#include "graph/base/number_text.h"
#include "graph/base/stop.h"
#include "graph/ops/convert.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

void fill(Array& result, const AttributeValue& value) {
  dispatch(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T element{};
    if (const auto* truth = std::get_if<bool>(&value)) element = convert<T>(*truth);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) element = convert<T>(*integer);
    if (const auto* number = std::get_if<double>(&value)) element = convert<T>(*number);
    T* out = result.mutable_data<T>();
    each_with_looks(result.size(), [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, element); });
  });
}

// --- zeros, ones, full -----------------------------------------------------------------------------------------------

template <Name op>
TypeResult constant_type(Types, const Attributes& attributes) {
  return give(op.view(), {}, {attributes.get_or("dtype", DType::f32), attributes.get<Integers>("shape")});
}

template <int value>
Status constant_reference(const OpCall& call) {
  fill(call.results[0], std::int64_t{value});
  return {};
}

/// The type of a literal without a given type.
std::optional<DType> literal_type(const AttributeValue& value) {
  if (std::holds_alternative<bool>(value)) return DType::boolean;
  if (std::holds_alternative<std::int64_t>(value)) return DType::i32;
  if (std::holds_alternative<double>(value)) return DType::f32;
  return std::nullopt;
}

TypeError beyond(std::string_view op, const std::string& number, DType dtype) {
  return refuse(DiagnosticKind::value, op, {},
                "`" + number + "` does not fit in " + std::string(to_string(dtype)) + "; `dtype=` chooses another type");
}
TypeError beyond(std::string_view op, std::int64_t number, DType dtype) {
  return beyond(op, std::to_string(number), dtype);
}

/// Whether `full` accepts the number for this type. As with `astype`, integer types truncate fractions, and for bool every number except
/// 0 is true.
bool fits(double number, DType dtype) {
  if (dtype == DType::boolean) return true;
  return is_floating(dtype) ? !out_of_range(number, dtype) : std::isfinite(number) && !out_of_range(std::trunc(number), dtype);
}

TypeResult full_type(Types, const Attributes& attributes) {
  const AttributeValue& value = *attributes.find("value");
  const auto literal = literal_type(value);
  if (!literal) return refuse(DiagnosticKind::type, "full", {}, "`value` must be a number, true or false");
  const DType dtype = attributes.get_or("dtype", *literal);
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer && out_of_range(*integer, dtype)) return beyond("full", *integer, dtype);
  const auto* real = std::get_if<double>(&value);
  if (real && !fits(*real, dtype)) return beyond("full", general_text(*real, 9), dtype);
  return give("full", {}, {dtype, attributes.get<Integers>("shape")});
}

Status full_reference(const OpCall& call) {
  fill(call.results[0], *call.attributes.find("value"));
  return {};
}

// --- arange ----------------------------------------------------------------------------------------------------------

/// The numbers of `arange`. If start, stop and step are integers, they are exact (`integral`); else they are doubles.
struct Progression {
  bool integral = true;
  std::int64_t start = 0, step = 1;
  double first = 0, increment = 1;
  std::int64_t count = 0;
};

std::variant<Progression, TypeError> progression_of(const Attributes& attributes) {
  const AttributeValue *start = attributes.find("start"), *stop = attributes.find("stop"), *step = attributes.find("step");
  const AttributeValue zero = std::int64_t{0}, one = std::int64_t{1};
  if (!stop) std::tie(start, stop) = std::tuple(&zero, start);  // arange(n) counts from 0 to n
  if (!step) step = &one;
  Progression p;
  for (const AttributeValue* value : {start, stop, step}) {
    if (std::holds_alternative<double>(*value)) {
      p.integral = false;
    } else if (!std::holds_alternative<std::int64_t>(*value)) {
      return refuse(DiagnosticKind::type, "arange", {}, "`start`, `stop` and `step` must be numbers");
    }
  }
  const auto real = [](const AttributeValue& v) {
    return std::holds_alternative<double>(v) ? std::get<double>(v) : static_cast<double>(std::get<std::int64_t>(v));
  };
  p.first = real(*start);
  p.increment = real(*step);
  if (p.increment == 0) return refuse(DiagnosticKind::value, "arange", {}, "a step of 0");
  const double steps = std::ceil((real(*stop) - p.first) / p.increment);
  if (!(steps < 0x1p62)) return refuse(DiagnosticKind::shape, "arange", {}, "the result would be too large");
  p.count = steps > 0 ? static_cast<std::int64_t>(steps) : 0;
  if (p.integral) {
    p.start = std::get<std::int64_t>(*start);
    p.step = std::get<std::int64_t>(*step);
    constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    std::int64_t distance = 0;  // exact; a double would not be
    if (__builtin_sub_overflow(std::get<std::int64_t>(*stop), p.start, &distance) || distance == kLowest || p.step == kLowest) {
      return refuse(DiagnosticKind::shape, "arange", {}, "the result would be too large");
    }
    p.count = distance == 0 || (distance > 0) != (p.step > 0) ? 0 : (std::abs(distance) - 1) / std::abs(p.step) + 1;
  }
  return p;
}

TypeResult arange_type(Types, const Attributes& attributes) {
  auto found = progression_of(attributes);
  if (auto* error = std::get_if<TypeError>(&found)) return std::move(*error);
  const auto& p = std::get<Progression>(found);
  const DType dtype = attributes.get_or("dtype", p.integral ? DType::i32 : DType::f32);
  if (dtype == DType::boolean) return refuse(DiagnosticKind::type, "arange", {}, "bool is no number");
  if (p.integral && p.count > 0) {
    const std::int64_t last = p.start + (p.count - 1) * p.step;
    for (std::int64_t number : {p.start, last})
      if (out_of_range(number, dtype)) return beyond("arange", number, dtype);
  } else if (p.count > 0) {
    for (double number : {p.first, p.first + static_cast<double>(p.count - 1) * p.increment})
      if (out_of_range(number, dtype)) return beyond("arange", general_text(number, 9), dtype);
  }
  return give("arange", {}, {dtype, {p.count}});
}

Status arange_reference(const OpCall& call) {
  const auto found = progression_of(call.attributes);
  const auto& p = std::get<Progression>(found);
  dispatch(call.results[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = call.results[0].mutable_data<T>();
    StopLooks looks;
    for (std::int64_t i = 0; i < p.count; ++i) {
      looks.worked();
      out[i] = p.integral ? convert<T>(p.start + i * p.step) : convert<T>(p.first + static_cast<double>(i) * p.increment);
    }
  });
  return {};
}

// --- eye -------------------------------------------------------------------------------------------------------------------------------

TypeResult eye_type(Types, const Attributes& attributes) {
  const auto rows = attributes.get<std::int64_t>("rows");
  const auto columns = attributes.get_or("columns", rows);
  return give("eye", {}, {attributes.get_or("dtype", DType::f32), {rows, columns}});
}

Status eye_reference(const OpCall& call) {
  const Shape& shape = call.results[0].shape();
  dispatch(call.results[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = call.results[0].mutable_data<T>();
    StopLooks looks;
    for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) {
      looks.worked(16);  // 16, since each element may be on a page of its own
      out[i * shape[1] + i] = convert<T>(1);
    }
  });
  return {};
}

}  // namespace

namespace {

constexpr AttributeDef kRequiredShape = required("shape", Type::shape);
constexpr AttributeDef kDTypeF32 = with_default("dtype", Type::dtype, DType::f32);
constexpr AttributeDef kDTypeAsWritten = optional("dtype", Type::dtype);

}  // namespace

constexpr OpDef op::zeros =
    Record("zeros(shape, dtype?)", 0, {kRequiredShape, kDTypeF32}, "all 0", constant_type<"zeros">, copy_cost, constant_reference<0>)
        .of_class(CostClass::creation)
        .differentiated(GradientRule::zero());

constexpr OpDef op::ones =
    Record("ones(shape, dtype?)", 0, {kRequiredShape, kDTypeF32}, "all 1", constant_type<"ones">, copy_cost, constant_reference<1>)
        .of_class(CostClass::creation)
        .differentiated(GradientRule::zero());

constexpr OpDef op::full = Record("full(shape, value, dtype?)", 0, {kRequiredShape, required("value", Type::any), kDTypeAsWritten},
                                  "all `value`; without `dtype` i32, f32 or bool as it is written", full_type, copy_cost, full_reference)
                               .of_class(CostClass::creation)
                               .differentiated(GradientRule::zero());

constexpr OpDef op::arange =
    Record("arange(start, stop?, step?, dtype?)", 0,
           {required("start", Type::any), optional("stop", Type::any), optional("step", Type::any), kDTypeAsWritten},
           "start, start + step, … before stop; `arange(n)` counts from 0; i32 unless a number has a point", arange_type, copy_cost,
           arange_reference)
        .of_class(CostClass::creation)
        .differentiated(GradientRule::zero());

constexpr OpDef op::eye =
    Record("eye(rows, columns?, dtype?)", 0, {required("rows", Type::integer), optional("columns", Type::integer), kDTypeF32},
           "1 on the diagonal, else 0", eye_type, copy_cost, eye_reference)
        .of_class(CostClass::creation)
        .differentiated(GradientRule::zero());

}  // namespace cleave::ops
