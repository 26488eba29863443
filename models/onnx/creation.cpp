// Lowerings of operators that create values: constants, ranges, random numbers.
#include <algorithm>

#include "models/onnx/lengths.h"

namespace cleave::models::onnx {
namespace {

Values constant(Call& c) {
  if (c.has_attribute("value")) {
    if (const auto texts = c.text_tensor("value")) return {text_constant(c, *texts)};
    const std::optional<Array> value = c.tensor("value");
    return value ? Values{{c.constant(*value), c.narrow_tensor("value")}} : c.poison();
  }
  if (const auto number = c.number("value_float")) return {c.scalar(static_cast<float>(*number))};
  if (const auto number = c.integer("value_int")) return {c.scalar(*number)};
  if (const auto numbers = c.integers("value_ints")) return {c.integers_constant(*numbers)};
  if (const auto numbers = c.numbers("value_floats")) {
    const std::vector<float> values(numbers->begin(), numbers->end());
    return {c.constant(Array::of<float>({static_cast<std::int64_t>(values.size())}, std::span<const float>(values)))};
  }
  if (c.has_attribute("sparse_value")) {
    const std::optional<Array> value = c.sparse_tensor("sparse_value");
    return value ? Values{c.constant(*value)} : c.poison();
  }
  if (const auto text = c.text("value_string")) return {text_constant(c, {{}, std::make_shared<const std::vector<std::string>>(1, *text)})};
  if (auto texts = c.texts("value_strings")) {
    const auto count = static_cast<std::int64_t>(texts->size());
    return {text_constant(c, {{count}, std::make_shared<const std::vector<std::string>>(*std::move(texts))})};
  }
  return c.unsupported("without a value");
}

/// Fills a shape with one value: by `full`, or by a broadcast constant for a u64 that `full` cannot represent exactly.
Values constant_of_shape(Call& c) {
  const auto wanted = extents(c, 0, "the shape of its result");
  if (!wanted) return c.poison();
  Shape shape;
  for (const Extent& extent : *wanted) shape.push_back(extent.most);
  const Array value = c.has_attribute("value") ? c.tensor("value").value_or(Array()) : Array();
  if (value.size() != 1) return c.mistake(DiagnosticKind::value, "`ConstantOfShape`: `value` is one element");
  const NarrowType* const narrow = c.narrow_tensor("value");
  AttributeValue element = value.at(0);
  if (value.dtype() == DType::boolean) element = value.at(0) != 0;
  if (value.dtype() == DType::i64) element = *value.data<std::int64_t>();
  Part result;
  if (value.dtype() == DType::u64 && value.at(0) >= 0x1p53)
    result = c(op::broadcast_to, {c.reshape(c.constant(value), {})}, {{"shape", shape}});
  else
    result = c(op::full, std::initializer_list<Part>{}, {{"shape", shape}, {"value", element}, {"dtype", value.dtype()}});
  for (std::size_t i = 0; i < wanted->size(); ++i)
    if ((*wanted)[i].count) result = with_length(c, result, *(*wanted)[i].count, static_cast<int>(i));
  return {{result, narrow}};
}

/// A range of integers that ends at a number of the program, with a known start and a known step above 0; nothing if it is another one.
std::optional<Part> range_to_length(Call& c) {
  if (!is_integer(c[0].dtype()) || !c.known(0) || !c.known(2) || c.known(1) || !c[1].operand().value.valid()) return std::nullopt;
  const auto start = c.known_integers(0, ""), step = c.known_integers(2, "");
  const std::optional<std::int64_t> end = largest(c, c[1], 0);
  if (!start || !step || !end || start->size() != 1 || step->size() != 1 || step->front() < 1) return std::nullopt;
  const std::int64_t most = std::max<std::int64_t>((*end - start->front() + step->front() - 1) / step->front(), 0);
  const Part numbers =
      c(op::arange, std::initializer_list<Part>{},
        {{"start", start->front()}, {"stop", start->front() + most * step->front()}, {"step", step->front()}, {"dtype", c[0].dtype()}});
  const Part stop = c.reshape(c.as(DType::i64, c[1]), {});
  Part count = stop;
  if (start->front() != 0 || step->front() != 1) count = c.subtract(stop, start->front() - (step->front() - 1));
  if (step->front() != 1) count = c(op::floor_divide, {count, step->front()});
  if (!c.tracer().most(count.operand().value)) count = c(op::maximum, {count, c.scalar(std::int64_t{0})});
  return with_length(c, numbers, count, 0);
}

Values range(Call& c) {
  c.ignore({"stash_type"});  // the precision of a running sum; no sum is formed here
  if (const std::optional<Part> bounded_range = range_to_length(c)) return {*bounded_range};
  constexpr std::string_view kHowMany = "how many numbers there are";
  const DType dtype = c[0].dtype();
  Attributes attributes{{"dtype", dtype}};
  for (std::size_t i = 0; i < 3; ++i) {
    static constexpr const char* kNames[] = {"start", "stop", "step"};
    if (i == 2 && !c.has(2)) break;  // in ONNX Runtime's own operator the step may be left out
    const auto numbers = c.known_numbers(i, kHowMany);
    if (!numbers) return c.poison();
    if (numbers->size() != 1) return c.mistake(DiagnosticKind::shape, "`Range` takes three scalars");
    if (is_floating(dtype))
      attributes.set(kNames[i], numbers->front());
    else
      attributes.set(kNames[i], c.known_integers(i, kHowMany)->front());
  }
  return {c(op::arange, std::initializer_list<Part>{}, std::move(attributes))};
}

Values eye_like(Call& c) {
  if (c[0].rank() != 2) return c.mistake(DiagnosticKind::shape, "`EyeLike` takes a matrix, not " + to_string(c[0].type()));
  const DType dtype = c.dtype("dtype").value_or(c[0].dtype());
  const std::int64_t k = c.integer("k", 0), rows = c[0].shape()[0], columns = c[0].shape()[1];
  if (k <= -rows || k >= columns)  // outside of the matrix
    return {c(op::zeros, std::initializer_list<Part>{}, {{"shape", Shape{rows, columns}}, {"dtype", dtype}})};
  if (k == 0) return {c(op::eye, std::initializer_list<Part>{}, {{"rows", rows}, {"columns", columns}, {"dtype", dtype}})};
  const auto counted = [&](std::int64_t start, std::int64_t stop) {
    return c(op::arange, std::initializer_list<Part>{}, {{"start", start}, {"stop", stop}, {"dtype", DType::i64}});
  };
  return {c.as(dtype, c(op::equal, {c.reshape(counted(k, rows + k), {rows, 1}), counted(0, columns)}))};
}

}  // namespace

std::span<const Lowering> creation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Constant", 1, constant}, {"ConstantOfShape", 9, constant_of_shape}, {"EyeLike", 9, eye_like},
      {"Range", 11, range},      {"com.microsoft.Range", 1, range},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
