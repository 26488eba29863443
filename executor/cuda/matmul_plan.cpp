// The plan of a matrix product, from its types alone.
#include <algorithm>
#include <limits>

#include "executor/cuda/matmul.h"
#include "graph/ops/strided.h"

namespace cleave::cuda {
namespace {

Shape batch_of(const TensorType& type) {
  return type.rank() <= 2 ? Shape{} : Shape(type.shape.begin(), type.shape.end() - 2);
}

/// Extents of the matrices: a one-dimensional operand is a row on the left and a column on the right.
MatmulPlan matrices(const TensorType& a, const TensorType& b) {
  MatmulPlan plan;
  plan.dtype = a.dtype;
  plan.k = a.shape.back();
  plan.m = a.rank() > 1 ? a.shape[a.shape.size() - 2] : 1;
  plan.n = b.rank() > 1 ? b.shape.back() : 1;
  return plan;
}

/// The batch axes, outermost first, without those of one index, and with neighbours joined that one stride an operand can state.
std::vector<MatmulPlan::Repeat> batch_axes(const MatmulPlan& plan, const TensorType& a, const TensorType& b) {
  const Shape batch = broadcast(batch_of(a), batch_of(b)).value_or(Shape{});
  const ops::Strides left = ops::broadcast_strides(batch_of(a), batch), right = ops::broadcast_strides(batch_of(b), batch);
  const ops::Strides whole = row_major_strides(batch);
  std::vector<MatmulPlan::Repeat> axes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const MatmulPlan::Repeat axis{batch[i], left[i] * plan.m * plan.k, right[i] * plan.k * plan.n, whole[i] * plan.m * plan.n};
    if (axis.count == 1) continue;
    if (!axes.empty() && axes.back().stride_a == axis.stride_a * axis.count && axes.back().stride_b == axis.stride_b * axis.count) {
      const std::int64_t outer = axes.back().count;
      axes.back() = axis;
      axes.back().count *= outer;
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

}  // namespace

bool has_bias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::bias_relu || epilogue == Epilogue::bias_gelu;
}

bool has_matmul(const KernelRequest& request) {
  if (request.op->name != "matmul" || !is_floating(request.result_types[0].dtype)) return false;
  constexpr std::int64_t kMostMatrices = std::numeric_limits<std::int32_t>::max();  // that cuBLASLt counts
  return request.result_types[0].elements() > 0 && request.input_types[0].shape.back() > 0 && matmul_plan(request).batch <= kMostMatrices;
}

MatmulPlan matmul_plan(const KernelRequest& request, bool transpose_a, bool transpose_b) {
  MatmulPlan plan = matrices(request.input_types[0], request.input_types[1]);
  std::vector<MatmulPlan::Repeat> axes = batch_axes(plan, request.input_types[0], request.input_types[1]);
  // A row of matrices against one matrix is one tall matrix against it, if they lie one below the other.
  if (!transpose_a && !axes.empty() && axes.back().stride_b == 0) {
    plan.m *= axes.back().count;
    axes.pop_back();
  }
  plan.transpose_a = transpose_a;
  plan.transpose_b = transpose_b || plan.n == 1;  // a column lies as a row does, and long rows are what the library likes
  const auto widest = std::max_element(axes.begin(), axes.end(), [](const auto& x, const auto& y) { return x.count < y.count; });
  if (widest != axes.end()) {
    plan.batch = widest->count;
    plan.stride_a = widest->stride_a;
    plan.stride_b = widest->stride_b;
    plan.stride_c = widest->stride_c;
    axes.erase(widest);
  }
  plan.repeats = std::move(axes);
  return plan;
}

std::string to_string(const MatmulPlan& plan) {
  constexpr const char* kEpilogues[] = {"", " relu", " gelu", " bias", " bias relu", " bias gelu"};
  const auto times = [](const char* what, std::int64_t count, std::int64_t a, std::int64_t b, std::int64_t c) {
    return std::string(what) + std::to_string(count) + " (" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
  };
  std::string text = std::string(to_string(plan.dtype)) + " " + std::to_string(plan.m) + "x" + std::to_string(plan.n) + "x" +
                     std::to_string(plan.k) + (plan.transpose_a ? " a'" : " a") + (plan.transpose_b ? " b'" : " b");
  if (plan.batch != 1) text += times(" batch ", plan.batch, plan.stride_a, plan.stride_b, plan.stride_c);
  for (const MatmulPlan::Repeat& repeat : plan.repeats)
    text += times(" repeat ", repeat.count, repeat.stride_a, repeat.stride_b, repeat.stride_c);
  return text + kEpilogues[static_cast<std::size_t>(plan.epilogue)];
}

}  // namespace cleave::cuda
