#include "executor/device/matmul_plan.h"

#include <algorithm>

#include "graph/ops/strided.h"
#include "graph/vocabulary.h"

namespace cleave::runtime {
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

/// The batch axes, outermost first, without axes of extent one, and with adjacent axes merged if one stride for each operand can express
/// both.
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

std::optional<MatmulRequest> alone(const KernelRequest& request) {
  if (request.op != &op::matmul) return std::nullopt;
  MatmulRequest found;
  found.a_type = request.input_types[0];
  found.b_type = request.input_types[1];
  found.c_type = request.result_types[0];
  return found;
}

/// Parses the steps of a fused request: transposes, the product, a bias, relu. Only the last step's result is written.
class FusedMatmul {
 public:
  explicit FusedMatmul(const KernelRequest& request) : request_(request), inputs_(request.input_types.size()) {}

  std::optional<MatmulRequest> find() {
    if (request_.written.size() != 1 || request_.written[0] + 1 != request_.steps.size()) return std::nullopt;
    while (at("transpose")) ++next_;
    if (!at("matmul") || !product()) return std::nullopt;
    ++next_;
    if (at("add")) {
      if (!add()) return std::nullopt;
      ++next_;
    }
    if (at("relu")) {
      if (step().operands[0] != before()) return std::nullopt;
      found_.epilogue = found_.epilogue == Epilogue::bias ? Epilogue::bias_relu : Epilogue::relu;
      ++next_;
    }
    return next_ == request_.steps.size() ? std::optional(found_) : std::nullopt;
  }

 private:
  [[nodiscard]] const FusedStep& step() const { return request_.steps[next_]; }
  [[nodiscard]] bool at(std::string_view op) const { return next_ < request_.steps.size() && step().op->name == op; }

  /// The result of the previous step.
  [[nodiscard]] std::size_t before() const { return inputs_ + next_ - 1; }

  /// The product must read inputs and transposes of inputs, and all of them.
  bool product() {
    const std::size_t left = step().operands[0], right = step().operands[1];
    found_.c_type = step().type;
    const std::size_t read = (left >= inputs_ ? 1 : 0) + (right >= inputs_ && right != left ? 1 : 0);
    return operand(left, found_.a, found_.a_type, found_.transpose_a) && operand(right, found_.b, found_.b_type, found_.transpose_b) &&
           read == next_;
  }
  bool operand(std::size_t place, std::size_t& input, TensorType& type, bool& transposed) const {
    transposed = place >= inputs_;
    type = transposed ? request_.steps[place - inputs_].type : request_.input_types[place];
    input = transposed ? request_.steps[place - inputs_].operands[0] : place;
    return input < inputs_;
  }

  /// A bias must be the right operand: a vector as long as the last axis, added to every row.
  bool add() {
    const std::vector<std::size_t>& operands = step().operands;
    const std::size_t other = operands[0] == before() ? operands[1] : operands[0];
    if (operands[0] != before() && operands[1] != before()) return false;
    if (other >= inputs_ || found_.b_type.rank() < 2 || step().type != found_.c_type) return false;
    const TensorType& type = request_.input_types[other];
    if (type.scalar() || type.elements() != type.shape.back() || type.shape.back() != found_.c_type.shape.back()) return false;
    found_.bias = other;
    found_.epilogue = Epilogue::bias;
    return true;
  }

  const KernelRequest& request_;
  const std::size_t inputs_;
  std::size_t next_ = 0;  ///< index of the next step
  MatmulRequest found_;
};

}  // namespace

bool has_bias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::bias_relu || epilogue == Epilogue::bias_gelu;
}

std::optional<MatmulRequest> find_matmul(const KernelRequest& request) {
  return request.steps.empty() ? alone(request) : FusedMatmul(request).find();
}

MatmulPlan matmul_plan(const MatmulRequest& product) {
  MatmulPlan plan = matrices(product.a_type, product.b_type);
  std::vector<MatmulPlan::Repeat> axes = batch_axes(plan, product.a_type, product.b_type);
  // Matrices that follow each other in memory, multiplied by one common matrix, are one tall matrix.
  if (!product.transpose_a && !axes.empty() && axes.back().stride_b == 0) {
    plan.m *= axes.back().count;
    axes.pop_back();
  }
  plan.epilogue = product.epilogue;
  plan.transpose_a = product.transpose_a;
  plan.transpose_b = product.transpose_b || plan.n == 1;  // a column has the memory layout of a row, and the library prefers long rows
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

}  // namespace cleave::runtime
