// Expression: the text of a kernel's element-wise work on one element of each input: the op of a request, or the steps of a fused request.
// Shared by the kernel families that may begin or end with element-wise work.
#pragma once

#include <string>
#include <vector>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

class Expression {
 public:
  /// Takes the element-wise steps of `request`: all steps, or all before the reduction that ends it.
  explicit Expression(const KernelRequest& request);

  /// Device functions, which must precede the kernels that use `compute`.
  [[nodiscard]] std::string functions() const;
  /// Statements that compute the elements s0, s1, … from the inputs' elements e0, e1, ….
  [[nodiscard]] std::string compute(const std::string& indent) const;
  /// The name of operand `k`: an input's element, or a step's.
  [[nodiscard]] std::string element(std::size_t k) const;
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<FusedStep>& steps() const { return steps_; }
  /// The work of all steps for one element, in simple operations.
  [[nodiscard]] std::int64_t work() const;

 private:
  [[nodiscard]] bool on_integers(const FusedStep& step) const { return is_integer(types_[step.operands.back()]); }
  [[nodiscard]] std::string function_name(const FusedStep& step) const;

  std::size_t inputs_ = 0;
  std::vector<FusedStep> steps_;
  std::vector<DType> types_;  ///< types of the operands: inputs, then steps
};

inline constexpr std::int64_t kMostLanes = 8;
/// How many neighbors along the last axis of `walk` a thread may take at once: in each operand that moves along this axis they form one
/// aligned piece of at most 16 bytes. `parts` are the other walks over the same operands, outside `walk`.
int lanes_along(const Walk& walk, std::span<const Walk> parts, std::span<const DType> types, bool with_rest,
                std::int64_t most = kMostLanes);

/// Statements that read operands, either one lane or all lanes at once.
struct Reads {
  std::string packs;     ///< before the loop over lanes: reads for all lanes at once
  std::string elements;  ///< in the loop: defines the elements of lane `l`
};
/// `places[k]` is the index expression of operand k. Operands with stride 0 along the lanes are read once.
Reads reads_of(const KernelRequest& request, const Walk& walk, std::span<const std::string> places, int lanes, const std::string& indent);

}  // namespace cleave::runtime::cuda
