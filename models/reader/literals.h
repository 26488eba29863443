// Numbers and nested lists of numbers as written in a model, and their conversion to arrays.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/array/array.h"
#include "graph/trace/tracer.h"

namespace cleave::models {

/// A rectangular list of lists, row-major; a single number has an empty shape.
struct LiteralList {
  Shape shape;
  std::vector<Literal> values;
};

/// Appends `part` to `list`, whose first extent counts its parts. False if `part` has another shape than the parts before it.
bool append(LiteralList& list, const LiteralList& part);

/// The element type of the values: f32 if one is floating, else i32, or i64 where i32 is too small; bool for true and false. Nothing for a
/// mixture of booleans and numbers.
[[nodiscard]] std::optional<DType> common_dtype(const std::vector<Literal>& values);
/// Nothing if a number cannot be represented in `dtype`; then `wrong` names it.
[[nodiscard]] std::optional<Array> to_array(const LiteralList& list, DType dtype, std::string* wrong);

[[nodiscard]] inline double to_double(const Literal& literal) {
  return literal.type == Literal::Type::floating ? literal.floating : static_cast<double>(literal.integer);
}
[[nodiscard]] bool fits(const Literal& literal, DType dtype);
[[nodiscard]] std::string spelled(const Literal& literal);

}  // namespace cleave::models
