// GradientCall: one operation as its gradient rule sees it (reverse mode). The rule is given the cotangents of the results, that is, the
// derivatives of the loss by them, and records those of the operands. It reads operands and results where it needs their numbers; what it
// reads must still be there when the gradient is computed, so a rule reads as little as it can. It knows no particular operation; the
// rules are in graph/ops/gradient_*.cpp, the pass that calls them in graph/gradient.
#pragma once

#include <functional>

#include "graph/trace/composer.h"

namespace cleave {

class GradientCall {
 public:
  GradientCall(const GradientCall&) = delete;
  GradientCall& operator=(const GradientCall&) = delete;
  virtual ~GradientCall() = default;

  [[nodiscard]] virtual const Attributes& attributes() const = 0;
  [[nodiscard]] virtual std::size_t operands() const = 0;
  [[nodiscard]] virtual const TensorType& operand_type(std::size_t i) const = 0;
  [[nodiscard]] virtual const TensorType& result_type(std::size_t i) const = 0;

  /// Whether the loss depends on an asked value through operand `i`. A cotangent given to another operand is dropped.
  [[nodiscard]] virtual bool wants(std::size_t i) const = 0;
  virtual Part operand(std::size_t i) = 0;
  virtual Part result(std::size_t i) = 0;
  /// Whether the loss depends on result `i`; if not, its cotangent is zero. The loss depends on at least one result.
  [[nodiscard]] virtual bool has_cotangent(std::size_t i) const = 0;
  /// The cotangent of result `i`, of its type; zeros if the loss does not depend on it.
  virtual Part cotangent(std::size_t i) = 0;

  /// Adds `cotangent` to that of operand `i`. It may have the operand's shape or any shape that broadcasting the operand gives, which is
  /// summed over the axes in question; and any element type.
  virtual void give(std::size_t i, const Part& cotangent) = 0;
  /// Replaces the cotangent of operand `i` (zeros if there is none yet) by `change(cotangent)`, of the same type. For an operation that
  /// reads a part of its operand: a change in place costs that part, and not the operand.
  virtual void give_into(std::size_t i, const std::function<Part(const Part& cotangent)>& change) = 0;

 protected:
  GradientCall() = default;
};

}  // namespace cleave
