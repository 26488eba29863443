// What one kernel takes: element-wise operations on one shape, and at the end a reduction of what they compute; or a matrix product with
// what cuBLASLt does to its operands and its result (matmul.h).
#include <algorithm>

#include "executor/cuda/back_end.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostOperands = 64;  ///< if all that the steps compute is written: then what is taken is taken in every part too

/// `steps` compute elements of one and the same shape.
bool elementwise(std::span<const FusedStep> steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == steps[0].type.shape; });
}

/// The last step reduces what the one before it computes, and nobody else sees the elements.
bool ends_in_reduction(const KernelRequest& request) {
  const FusedStep& last = request.steps.back();
  const std::size_t before = request.input_types.size() + request.steps.size() - 2;
  return reduces(*last.op) && last.operands == std::vector<std::size_t>{before} && request.result_types.size() == 1;
}

}  // namespace

bool fuses(const KernelRequest& request) {
  const std::span<const FusedStep> steps = request.steps;
  if (steps.size() > kMostSteps || request.input_types.size() + steps.size() > kMostOperands) return false;
  if (elementwise(steps) || has_matmul(request)) return true;
  return elementwise(steps.first(steps.size() - 1)) && ends_in_reduction(request);
}

}  // namespace cleave::runtime::cuda
