#include "graph/ops/gradient_term.h"

#include "graph/vocabulary.h"

namespace cleave::ops::gradients {
namespace {

Composer& composer_of(const Term& a, const Term& b) {
  CLEAVE_CHECK(a.composer() || b.composer(), "a formula of numbers alone");
  return a.composer() ? *a.composer() : *b.composer();
}

Term binary(const OpDef& op, const Term& a, const Term& b) {
  Composer& composer = composer_of(a, b);
  return {composer, composer(op, {a.part(), b.part()})};
}

}  // namespace

Term operator+(const Term& a, const Term& b) {
  return binary(op::add, a, b);
}
Term operator-(const Term& a, const Term& b) {
  return binary(op::subtract, a, b);
}
Term operator*(const Term& a, const Term& b) {
  return binary(op::multiply, a, b);
}
Term operator/(const Term& a, const Term& b) {
  return binary(op::divide, a, b);
}
Term operator-(const Term& a) {
  return call(op::negative, a);
}
Term operator<(const Term& a, const Term& b) {
  return binary(op::less, a, b);
}
Term operator>(const Term& a, const Term& b) {
  return binary(op::greater, a, b);
}
Term operator>=(const Term& a, const Term& b) {
  return binary(op::greater_equal, a, b);
}
Term operator==(const Term& a, const Term& b) {
  return binary(op::equal, a, b);
}
Term operator&&(const Term& a, const Term& b) {
  return binary(op::logical_and, a, b);
}
Term operator||(const Term& a, const Term& b) {
  return binary(op::logical_or, a, b);
}
Term where(const Term& condition, const Term& a, const Term& b) {
  Composer& composer = composer_of(condition, a);
  return {composer, composer(op::where, {condition.part(), a.part(), b.part()})};
}
Term call(const OpDef& op, const Term& a) {
  CLEAVE_CHECK(a.composer(), "a formula of numbers alone");
  return {*a.composer(), (*a.composer())(op, {a.part()})};
}
Term call(const OpDef& op, const Term& a, const Term& b) {
  return binary(op, a, b);
}

}  // namespace cleave::ops::gradients
