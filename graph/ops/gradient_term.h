// Term: a value in the formula of a gradient rule, with operators: `g * (1 - r * r)`. Operations are recorded through the Composer.
#pragma once

#include <utility>

#include "graph/trace/gradient_call.h"

namespace cleave::ops::gradients {

class Term {
 public:
  Term(double number) : part_(number) {}
  Term(int number) : part_(number) {}
  Term(Composer& composer, Part part) : composer_(&composer), part_(std::move(part)) {}

  [[nodiscard]] const Part& part() const { return part_; }
  [[nodiscard]] Composer* composer() const { return composer_; }  ///< null: a number

 private:
  Composer* composer_ = nullptr;
  Part part_;
};

/// An operand, a result or a cotangent of the call. It is read only where a formula uses it.
class Read {
 public:
  using From = Part (GradientCall::*)(std::size_t);
  Read(Composer& composer, GradientCall& call, From from, std::size_t index)
      : composer_(composer), call_(call), from_(from), index_(index) {}
  operator Term() const { return {composer_, (call_.*from_)(index_)}; }

 private:
  Composer& composer_;
  GradientCall& call_;
  From from_;
  std::size_t index_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
Term operator<(const Term& a, const Term& b);
Term operator>(const Term& a, const Term& b);
Term operator>=(const Term& a, const Term& b);
Term operator==(const Term& a, const Term& b);
Term operator&&(const Term& a, const Term& b);
Term operator||(const Term& a, const Term& b);
Term where(const Term& condition, const Term& a, const Term& b);
/// A call of another element-wise operation: `call(op::sin, a)`.
Term call(const OpDef& op, const Term& a);
Term call(const OpDef& op, const Term& a, const Term& b);

}  // namespace cleave::ops::gradients
