// fuses(): the fusion groups that one CUDA kernel can run: element-wise operations on one shape, optionally followed by a reduction of
// their result; or a matrix product with the epilogue and operand changes that cuBLASLt supports (matmul.h).
#include <algorithm>

#include "executor/cuda/back_end.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"
#include "graph/kernel/fusible_op.h"

namespace cleave::runtime::cuda {
namespace {

/// Counts every step as a result, so that if a group is accepted, each part of it is accepted too.
constexpr std::size_t kMostOperands = 64;

/// True if all of `steps` are element-wise on one shape.
bool elementwise(std::span<const FusedStep> steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == steps[0].type.shape; });
}

/// True if the last step reduces the result of the step before it, and that result has no other reader.
bool ends_in_reduction(const KernelRequest& request) {
  const FusedStep& last = request.steps.back();
  const std::size_t before = request.input_types.size() + request.steps.size() - 2;
  return reduces(*last.op) && last.operands == std::vector<std::size_t>{before} && request.result_types.size() == 1;
}

}  // namespace

bool fuses(const KernelRequest& request) {
  const std::span<const FusedStep> steps = request.steps;
  if (steps.size() > kernels::kMostFusedSteps || request.input_types.size() + steps.size() > kMostOperands) return false;
  if (elementwise(steps) || has_matmul(request)) return true;
  return elementwise(steps.first(steps.size() - 1)) && ends_in_reduction(request);
}

}  // namespace cleave::runtime::cuda
