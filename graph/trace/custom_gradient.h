// CustomGradient: a piece of program whose gradient the user states. The rule is traced right behind the piece, on stand-ins for the
// cotangents of its results; `differentiate` (graph/gradient) copies it to where a gradient needs it and removes the original. Functions of
// a YAML model, host functions, and the functions of C++ and Python use this one mechanism.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/trace/tracer.h"

namespace cleave {

/// The values that the rule of a custom gradient takes beside the cotangents. Others are neither kept nor transferred for it.
struct RuleReads {
  bool inputs = true;   ///< the operands of the piece
  bool results = true;  ///< its results
};

class CustomGradient {
 public:
  /// `results` were computed from `operands` by the piece that is called `name` at `location`. After a mistake in it this does nothing.
  CustomGradient(Tracer& tracer, std::string name, std::span<const Operand> operands, std::span<const Operand> results,
                 SourceLocation location);

  /// The results, by which the program goes on.
  [[nodiscard]] const std::vector<Operand>& results() const { return results_; }
  /// The arguments of the rule: operands, results, and one cotangent for each result.
  [[nodiscard]] std::vector<Operand> given(RuleReads reads) const;
  /// The types of the cotangents that the rule must give: those of the floating operands. Numbers (literals) are constants.
  [[nodiscard]] const std::vector<TensorType>& wanted() const { return wanted_; }
  /// Ends the rule, which gives these cotangents. A wrong number or type of them is an error at the location.
  void end(std::span<const Operand> cotangents);

 private:
  Tracer& tracer_;
  std::string name_;
  SourceLocation location_;
  std::vector<Operand> operands_, results_, cotangents_;
  std::vector<TensorType> wanted_;
  std::vector<std::size_t> floating_;  ///< the positions of the floating operands
  bool valid_ = false;
};

}  // namespace cleave
