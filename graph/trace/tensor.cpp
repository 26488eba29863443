#include "graph/trace/tensor.h"

#include "graph/trace/trace_context.h"
#include "graph/vocabulary.h"

namespace cleave {

TensorType Tensor::type() const {
  return TraceContext::type(*this).value_or(TensorType{});
}

std::int64_t Tensor::extent(int axis) const {
  const TensorType known = type();
  const int counted = axis < 0 ? axis + known.rank() : axis;
  return counted >= 0 && counted < known.rank() ? known.shape[static_cast<std::size_t>(counted)] : 1;
}

Tensor Tensor::slice(std::initializer_list<Pick> picks, Here here) const {
  return detail::slice(*this, picks, here.of("slice"));
}

Tensor Tensor::operator[](const Term& index) const {
  const std::optional<Literal>& literal = TraceContext::peek(index.tensor).literal;
  if (literal && literal->type == Literal::Type::integer && !literal->above_i64)
    return detail::slice(*this, {literal->integer}, index.here);
  return detail::call(op::take, {*this, index.tensor}, {{"axis", std::int64_t{0}}}, index.here);
}

Tensor& Tensor::operator+=(const Term& b) {
  return *this = detail::operate("+", op::add, {*this, b.tensor}, b.here);
}
Tensor& Tensor::operator-=(const Term& b) {
  return *this = detail::operate("-", op::subtract, {*this, b.tensor}, b.here);
}
Tensor& Tensor::operator*=(const Term& b) {
  return *this = detail::operate("*", op::multiply, {*this, b.tensor}, b.here);
}
Tensor& Tensor::operator/=(const Term& b) {
  return *this = detail::operate("/", op::divide, {*this, b.tensor}, b.here);
}
Tensor& Tensor::operator%=(const Term& b) {
  return *this = detail::operate("%", op::remainder, {*this, b.tensor}, b.here);
}

// Uses the left operand's location: with clang it is the start of the expression; with GCC both operands have its end.
Tensor operator+(const Term& a, const Term& b) {
  return detail::operate("+", op::add, {a.tensor, b.tensor}, a.here);
}
Tensor operator-(const Term& a, const Term& b) {
  return detail::operate("-", op::subtract, {a.tensor, b.tensor}, a.here);
}
Tensor operator*(const Term& a, const Term& b) {
  return detail::operate("*", op::multiply, {a.tensor, b.tensor}, a.here);
}
Tensor operator/(const Term& a, const Term& b) {
  return detail::operate("/", op::divide, {a.tensor, b.tensor}, a.here);
}
Tensor operator%(const Term& a, const Term& b) {
  return detail::operate("%", op::remainder, {a.tensor, b.tensor}, a.here);
}
Tensor operator-(const Term& a) {
  return detail::operate("-", op::negative, {a.tensor}, a.here);
}
Tensor operator==(const Term& a, const Term& b) {
  return detail::operate("==", op::equal, {a.tensor, b.tensor}, a.here);
}
Tensor operator!=(const Term& a, const Term& b) {
  return detail::operate("!=", op::not_equal, {a.tensor, b.tensor}, a.here);
}
Tensor operator<(const Term& a, const Term& b) {
  return detail::operate("<", op::less, {a.tensor, b.tensor}, a.here);
}
Tensor operator<=(const Term& a, const Term& b) {
  return detail::operate("<=", op::less_equal, {a.tensor, b.tensor}, a.here);
}
Tensor operator>(const Term& a, const Term& b) {
  return detail::operate(">", op::greater, {a.tensor, b.tensor}, a.here);
}
Tensor operator>=(const Term& a, const Term& b) {
  return detail::operate(">=", op::greater_equal, {a.tensor, b.tensor}, a.here);
}
Tensor operator&&(const Term& a, const Term& b) {
  return detail::operate("&&", op::logical_and, {a.tensor, b.tensor}, a.here);
}
Tensor operator||(const Term& a, const Term& b) {
  return detail::operate("||", op::logical_or, {a.tensor, b.tensor}, a.here);
}
Tensor operator!(const Term& a) {
  return detail::operate("!", op::logical_not, {a.tensor}, a.here);
}

}  // namespace cleave
