// New values: constants, ranges, random numbers.
#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

Values constant(Call& c) {
  if (c.has_attribute("value")) {
    const std::optional<Array> value = c.tensor("value");
    return value ? Values{c.constant(*value)} : c.poison();
  }
  if (const auto number = c.number("value_float")) return {c.scalar(static_cast<float>(*number))};
  if (const auto number = c.integer("value_int")) return {c.scalar(*number)};
  if (const auto numbers = c.integers("value_ints")) return {c.integers_constant(*numbers)};
  if (const auto numbers = c.numbers("value_floats")) {
    const std::vector<float> values(numbers->begin(), numbers->end());
    return {c.constant(Array::of<float>({static_cast<std::int64_t>(values.size())}, std::span<const float>(values)))};
  }
  return c.unsupported(c.has_attribute("sparse_value") ? "of a sparse tensor" : "of text");
}

}  // namespace

std::span<const Lowering> creation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Constant", 1, constant},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
