#include "executor/cuda/kernels/expression.h"

#include <algorithm>

#include "graph/ops/scalars.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kWidestAccess = 16;  ///< bytes

bool converts(const OpDef& op) {
  return op.scalar == scalars::AsType::text;
}

}  // namespace

Expression::Expression(const KernelRequest& request) : inputs_(request.input_types.size()), steps_(request.steps) {
  if (steps_.empty() && request.op->elementwise()) {
    FusedStep step{request.node, request.op, request.attributes, {}, request.result_types[0]};
    for (std::size_t k = 0; k < inputs_; ++k) step.operands.push_back(k);
    steps_.push_back(std::move(step));
  }
  if (!steps_.empty() && !steps_.back().op->elementwise()) steps_.pop_back();
  for (const TensorType& input : request.input_types) types_.push_back(input.dtype);
  for (const FusedStep& step : steps_) types_.push_back(step.type.dtype);
}

std::string Expression::function_name(const FusedStep& step) const {
  return (on_integers(step) ? "integer_" : "scalar_") + std::string(step.op->name);
}

std::string Expression::functions() const {
  std::vector<std::string> names;
  std::string text;
  for (const FusedStep& step : steps_) {
    const OpDef& op = *step.op;
    std::string name = function_name(step);
    if (converts(op) || std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string parameters;
    for (int k = 0; k < op.min_inputs; ++k) {
      if (k > 0) parameters += ", ";
      parameters += (op.promote_from > k ? "bool " : "T ") + std::string(1, static_cast<char>('a' + k));
    }
    const std::string_view expression = on_integers(step) ? op.scalar_integer : op.scalar;
    for (const scalars::PreludeFunction& function : scalars::kPrelude) {
      if (expression.find(function.name) == std::string::npos || text.find(function.text) != std::string::npos) continue;
      text += std::string(function.text) + "\n";
    }
    text += "template <class T>\ninline auto " + name + "(" + parameters + ") {\n  return " + std::string(expression) + ";\n}\n";
    names.push_back(std::move(name));
  }
  return text;
}

std::string Expression::element(std::size_t k) const {
  return k < inputs_ ? "e" + std::to_string(k) : "s" + std::to_string(k - inputs_);
}

std::string Expression::compute(const std::string& indent) const {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const FusedStep& step = steps_[i];
    const std::string result = name_of(step.type.dtype);
    std::string value;
    if (converts(*step.op)) {
      value = "convert<" + result + ">(" + element(step.operands[0]) + ")";
    } else {
      for (const std::size_t operand : step.operands) value += (value.empty() ? "load(" : ", load(") + element(operand) + ")";
      value = "store<" + result + ">((Compute<" + result + ">)" + function_name(step) + "(" + value + "))";
    }
    text += indent + "const " + result + " s" + std::to_string(i) + " = " + value + ";\n";
  }
  return text;
}

std::int64_t Expression::work() const {
  std::int64_t work = 0;
  for (const FusedStep& step : steps_) {
    const CostClass what = step.op->cost_class;
    const std::int64_t words = size_of(step.type.dtype) == 8 ? 2 : 1;
    work += words * (what == CostClass::transcendental ? 16 : what == CostClass::division ? 4 : 1);
  }
  return work;
}

int lanes_along(const Walk& walk, std::span<const Walk> parts, std::span<const DType> types, bool with_rest, std::int64_t most) {
  if (walk.extents.empty()) return 1;
  std::int64_t lanes = most;
  for (std::size_t k = 0; k < types.size(); ++k) {
    const std::int64_t step = walk.strides[k].back();
    if (step != 0 && step != 1) return 1;
    if (step == 1) lanes = std::min(lanes, kWidestAccess / size_of(types[k]));
  }
  const auto aligned = [&](std::size_t k) {
    const auto whole = [&](std::int64_t stride) { return stride % lanes == 0; };
    if (!std::all_of(walk.strides[k].begin(), walk.strides[k].end() - 1, whole)) return false;
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Walk& part) { return std::all_of(part.strides[k].begin(), part.strides[k].end(), whole); });
  };
  const auto fits = [&] {
    if (walk.extents.back() % lanes != 0 && !(with_rest && walk.extents.size() == 1)) return false;
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (walk.strides[k].back() == 1 && !aligned(k)) return false;
    }
    return true;
  };
  while (!fits()) lanes /= 2;
  return static_cast<int>(lanes);
}

Reads reads_of(const KernelRequest& request, const Walk& walk, std::span<const std::string> places, int lanes, const std::string& indent) {
  Reads reads;
  for (std::size_t k = 0; k < request.input_types.size(); ++k) {
    const std::string n = std::to_string(k), type = name_of(request.input_types[k].dtype);
    const bool packed = lanes > 1 && walk.strides[k].back() == 1;
    if (packed) {
      reads.packs += indent + "const Pack<" + type + ", " + std::to_string(lanes) + "> p" + n + " = read_pack<" + std::to_string(lanes) +
                     ">(x" + n + " + " + places[k] + ");\n";
      reads.elements += indent + "  const " + type + " e" + n + " = p" + n + ".lane[l];\n";
    } else {
      reads.packs += indent + "const " + type + " e" + n + " = x" + n + "[" + places[k] + "];\n";
    }
  }
  return reads;
}

}  // namespace cleave::runtime::cuda
