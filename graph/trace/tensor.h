// Tensor: a handle on a value of the program that is being traced. It holds no data and computes nothing; every operator records an
// operation with the caller's source position (trace.h starts a trace, ops/ops.h has the functions).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "graph/array/tensor_type.h"
#include "graph/base/source_location.h"
#include "graph/trace/tracer.h"

namespace cleave {

class TraceContext;
struct Term;

/// A number as a weakly typed literal: `0` adapts to any numeric type, `0.0` to any floating type.
template <class T>
requires std::is_arithmetic_v<T> Literal make_literal(T number) {
  if constexpr (std::is_same_v<T, bool>) return {Literal::Type::boolean, number ? 1 : 0, 0};
  if constexpr (std::is_floating_point_v<T>) return {Literal::Type::floating, 0, static_cast<double>(number)};
  const bool above = std::is_unsigned_v<T> && static_cast<std::uint64_t>(number) > std::uint64_t{INT64_MAX};
  return {Literal::Type::integer, static_cast<std::int64_t>(number), 0, above};
}

/// The part of one axis that `x.slice(...)` selects: an index (which removes the axis), a range, or `all_of_axis`. Negative numbers count
/// from the end.
struct Pick {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
  bool index = false;

  Pick() = default;
  Pick(std::integral auto i) : start(static_cast<std::int64_t>(i)), index(true) {}
  Pick(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t by = 1) : start(from), stop(to), step(by) {}
};
inline const Pick all_of_axis{};

/// A handle on a value of the trace in progress: copying it copies no data, assigning to it binds the name to another value. Numbers
/// convert to it as literals. After a mistake (reported once, at its line) the handle is void, and no further mistake is reported for
/// values computed from it.
///
///   Graph g = trace("axpy", {{"x", "f32[4]"}, {"y", "f32[4]"}}, [](Tensor x, Tensor y) { return 2 * x + y; });
///
/// There is no conversion to bool: a branch on a value is `cond` or `while_loop`, and `&&`, `||`, `!` record `logical_and`, `logical_or`,
/// `logical_not` element by element, evaluating both sides.
class Tensor {
 public:
  Tensor() = default;  ///< no value yet; using it is reported
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(T number) : operand_(make_literal(number)) {}

  /// Element type and shape, known while tracing; `f32[]` for a void handle.
  [[nodiscard]] TensorType type() const;
  [[nodiscard]] Shape shape() const { return type().shape; }
  [[nodiscard]] DType dtype() const { return type().dtype; }
  [[nodiscard]] int rank() const { return type().rank(); }
  /// The extent of an axis (negative: from the end); 1 where there is no such axis, so that a wrong program traces to its end.
  [[nodiscard]] std::int64_t extent(int axis) const;

  /// `x.slice({{0, 10}, all_of_axis, 3})` is `x[0:10, :, 3]`; axes that are not mentioned stay whole.
  [[nodiscard]] Tensor slice(std::initializer_list<Pick> picks, Here here = Here::now()) const;
  /// `x[i]`: the i-th part along the first axis.
  [[nodiscard]] Tensor operator[](const Term& index) const;

  // These operators bind the handle to the new value; the old value and other handles on it are unchanged.
  Tensor& operator+=(const Term& b);
  Tensor& operator-=(const Term& b);
  Tensor& operator*=(const Term& b);
  Tensor& operator/=(const Term& b);
  Tensor& operator%=(const Term& b);

 private:
  friend class TraceContext;
  Tensor(std::shared_ptr<TraceContext> trace, Operand operand) : trace_(std::move(trace)), operand_(std::move(operand)) {}

  std::shared_ptr<TraceContext> trace_;  ///< null for literals and handles without a value
  Operand operand_;
};

/// An operand of an operator: a Tensor or number together with its source position. Constructed only by implicit conversion.
struct Term {
  Term(const Tensor& t, Here h = Here::now()) : tensor(t), here(h) {}
  template <class T>
  requires std::is_arithmetic_v<T> Term(T number, Here h = Here::now()) : tensor(number), here(h) {}

  Tensor tensor;
  Here here;
};

// Element by element, with NumPy's broadcasting and the promotions of literals and mixed types. `/` is true division, `%` has the sign of
// the divisor (array API: remainder). Comparisons give bool. Shapes that do not broadcast are an error at the operator's line.
Tensor operator+(const Term& a, const Term& b);
Tensor operator-(const Term& a, const Term& b);
Tensor operator*(const Term& a, const Term& b);
Tensor operator/(const Term& a, const Term& b);
Tensor operator%(const Term& a, const Term& b);
Tensor operator-(const Term& a);
Tensor operator==(const Term& a, const Term& b);
Tensor operator!=(const Term& a, const Term& b);
Tensor operator<(const Term& a, const Term& b);
Tensor operator<=(const Term& a, const Term& b);
Tensor operator>(const Term& a, const Term& b);
Tensor operator>=(const Term& a, const Term& b);
Tensor operator&&(const Term& a, const Term& b);  ///< logical_and; evaluates both sides
Tensor operator||(const Term& a, const Term& b);  ///< logical_or; evaluates both sides
Tensor operator!(const Term& a);                  ///< logical_not

}  // namespace cleave
