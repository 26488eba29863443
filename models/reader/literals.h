// Numbers and nested lists of numbers as written in a model, and the arrays they stand for.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/array/array.h"
#include "graph/trace/tracer.h"

namespace cleave::models {

/// A rectangular list of lists, row-major; a single number has no extents.
struct LiteralList {
  Shape shape;
  std::vector<Literal> values;
};

/// Puts `part` behind the parts already in `list`, whose first extent counts them. False if it has another shape than those.
bool append(LiteralList& list, const LiteralList& part);

/// The type of the numbers alone: f32 if one is floating, else i32, or i64 where that is too small; bool for true and false. Nothing for a
/// mixture of these and numbers.
[[nodiscard]] std::optional<DType> common_dtype(const std::vector<Literal>& values);
/// Nothing if a number cannot be had in `dtype`; then `wrong` says which.
[[nodiscard]] std::optional<Array> to_array(const LiteralList& list, DType dtype, std::string* wrong);

[[nodiscard]] inline double to_double(const Literal& literal) {
  return literal.type == Literal::Type::floating ? literal.floating : static_cast<double>(literal.integer);
}
[[nodiscard]] bool fits(const Literal& literal, DType dtype);
[[nodiscard]] std::string spelled(const Literal& literal);

}  // namespace cleave::models
