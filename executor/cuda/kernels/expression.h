// Expression: what a kernel does with one element of each input, as text: the op of a request, or the steps of a fused one. Shared by the
// families that may end or begin with element-wise work.
#pragma once

#include <string>
#include <vector>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

class Expression {
 public:
  /// The element-wise steps of `request`: all of them, or all in front of the reduction that ends it.
  explicit Expression(const KernelRequest& request);

  /// Device code in front of the kernels that use `compute`.
  [[nodiscard]] std::string functions() const;
  /// Statements that compute the elements s0, s1, … from the inputs' elements e0, e1, ….
  [[nodiscard]] std::string compute(const std::string& indent) const;
  /// The name of operand `k`: an input's element, or a step's.
  [[nodiscard]] std::string element(std::size_t k) const;
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<FusedStep>& steps() const { return steps_; }
  /// Of all steps for one element, in simple operations.
  [[nodiscard]] std::int64_t work() const;

 private:
  [[nodiscard]] bool on_integers(const FusedStep& step) const { return is_integer(types_[step.operands.back()]); }
  [[nodiscard]] std::string function_name(const FusedStep& step) const;

  std::size_t inputs_ = 0;
  std::vector<FusedStep> steps_;
  std::vector<DType> types_;  ///< of the operands: inputs, then steps
};

inline constexpr std::int64_t kMostLanes = 8;
/// How many neighbours along the last axis of `walk` a thread may take at once: each operand that moves along it has them in one aligned
/// piece of at most 16 bytes. `parts`: every other walk of the same operands, outside of `walk`.
int lanes_along(const Walk& walk, std::span<const Walk> parts, std::span<const DType> types, bool with_rest,
                std::int64_t most = kMostLanes);

/// Statements that read element `lane` (or all `lanes` at once: reads in front of the loop over lanes, elements in it).
struct Reads {
  std::string packs;     ///< once for all lanes
  std::string elements;  ///< for the lane `l`
};
/// `places[k]`: where operand k is; operands that stand still along the lanes are read once.
Reads reads_of(const KernelRequest& request, const Walk& walk, std::span<const std::string> places, int lanes, const std::string& indent);

}  // namespace cleave::runtime::cuda
