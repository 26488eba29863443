#include "graph/kernel/row_cut.h"

#include <algorithm>
#include <numeric>

namespace cleave::kernels {
namespace {

/// Finds the axis along which each value is cut, from the results back to the inputs.
class Cutter {
 public:
  explicit Cutter(const KernelRequest& request) : request_(request), steps_(request.steps) {
    if (steps_.empty() && request.result_types.size() == 1) {
      steps_.push_back({request.node, request.op, request.attributes, std::vector<std::size_t>(inputs()), request.result_types[0]});
      std::iota(steps_[0].operands.begin(), steps_[0].operands.end(), std::size_t{0});
    }
    axes_.resize(inputs() + steps_.size(), kUnknown);
  }

  std::optional<RowCut> run() {
    if (steps_.empty()) return std::nullopt;
    const Shape& last = steps_.back().type.shape;
    const auto first = std::find_if(last.begin(), last.end(), [](std::int64_t extent) { return extent > 1; });
    if (first == last.end()) return std::nullopt;
    RowCut cut;
    cut.rows = rows_ = *first;
    for (std::size_t i = steps_.size(); i-- > 0;)
      if (!reach(i)) return std::nullopt;
    cut.inputs.assign(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(inputs()));
    cut.steps.assign(axes_.begin() + static_cast<std::ptrdiff_t>(inputs()), axes_.end());
    for (int& axis : cut.inputs) axis = std::max(axis, RowCut::kWhole);
    if (request_.steps.empty()) cut.results = cut.steps;
    for (const std::size_t step : request_.written) cut.results.push_back(cut.steps[step]);
    const bool whole = std::any_of(cut.results.begin(), cut.results.end(), [](int axis) { return axis == RowCut::kWhole; });
    return whole ? std::nullopt : std::optional(std::move(cut));
  }

 private:
  static constexpr int kUnknown = -2;

  [[nodiscard]] std::size_t inputs() const { return request_.input_types.size(); }
  [[nodiscard]] const Shape& shape(std::size_t operand) const {
    return operand < inputs() ? request_.input_types[operand].shape : steps_[operand - inputs()].type.shape;
  }

  /// Finds the axes that a step needs of its operands. If no later step reads its result, its own first axis longer than one is the axis of
  /// rows.
  bool reach(std::size_t number) {
    const FusedStep& step = steps_[number];
    const std::size_t result = inputs() + number;
    if (axes_[result] == kUnknown) {
      const Shape& own = step.type.shape;
      const auto first = std::find_if(own.begin(), own.end(), [](std::int64_t extent) { return extent > 1; });
      if (first == own.end() || !need(result, static_cast<int>(first - own.begin()))) return false;
    }
    const int axis = axes_[result];
    const auto whole = [&](std::size_t operand) { return need(operand, RowCut::kWhole); };
    if (axis == RowCut::kWhole) return std::all_of(step.operands.begin(), step.operands.end(), whole);
    if (step.op->elementwise()) {
      return std::all_of(step.operands.begin(), step.operands.end(), [&](std::size_t operand) {
        const int there = axis - static_cast<int>(step.type.shape.size()) + static_cast<int>(shape(operand).size());
        return need(operand, there >= 0 && shape(operand)[static_cast<std::size_t>(there)] == rows_ ? there : RowCut::kWhole);
      });
    }
    if (step.op->cost_class != CostClass::reduction || step.operands.size() != 1) return false;
    const std::optional<int> kept = kept_axis(step, axis);
    return kept && need(step.operands[0], *kept);
  }

  /// The axis of a reduction's operand that becomes `axis` of its result; empty if it is reduced.
  [[nodiscard]] std::optional<int> kept_axis(const FusedStep& step, int axis) const {
    const auto rank = static_cast<int>(shape(step.operands[0]).size());
    const auto* reduced = step.attributes->get_if<std::vector<std::int64_t>>("axis");
    if (!reduced) return std::nullopt;  // all axes are reduced
    std::vector<int> left;
    const bool keeps = step.attributes->get_or<bool>("keepdims", false);
    for (int i = 0; i < rank; ++i) {
      const bool goes = std::any_of(reduced->begin(), reduced->end(), [&](std::int64_t each) { return each == i || each + rank == i; });
      if (!goes) left.push_back(i);
      if (goes && keeps) left.push_back(RowCut::kWhole);
    }
    const int from = left[static_cast<std::size_t>(axis)];
    return from == RowCut::kWhole ? std::nullopt : std::optional(from);
  }

  /// Records the axis that an operand needs; false if it cannot be cut so. Rows are contiguous only if all axes before theirs have length
  /// one.
  bool need(std::size_t operand, int axis) {
    const Shape& all = shape(operand);
    if (axis >= 0 && all[static_cast<std::size_t>(axis)] != rows_) return false;
    if (axis > 0 && std::any_of(all.begin(), all.begin() + axis, [](std::int64_t extent) { return extent != 1; })) return false;
    const bool fits = axes_[operand] == kUnknown || axes_[operand] == axis;
    axes_[operand] = axis;
    return fits;
  }

  const KernelRequest& request_;
  std::vector<FusedStep> steps_;
  std::int64_t rows_ = 0;
  std::vector<int> axes_;  ///< by operand: inputs, then steps
};

}  // namespace

std::optional<RowCut> row_cut(const KernelRequest& request) {
  return Cutter(request).run();
}

KernelRequest rows_of(const KernelRequest& request, const RowCut& cut, std::int64_t begin, std::int64_t end) {
  KernelRequest some = request;
  const auto shorten = [&](TensorType& type, int axis) {
    if (axis != RowCut::kWhole) type.shape[static_cast<std::size_t>(axis)] = end - begin;
  };
  const auto narrow = [&](Range& range, const TensorType& type, int axis) {
    if (axis == RowCut::kWhole) return;
    const std::int64_t row = type.bytes() / cut.rows;
    range = {range.offset + begin * row, (end - begin) * row};
  };
  for (std::size_t i = 0; i < some.inputs.size(); ++i) narrow(some.inputs[i], request.input_types[i], cut.inputs[i]);
  for (std::size_t i = 0; i < some.results.size(); ++i) narrow(some.results[i], request.result_types[i], cut.results[i]);
  for (std::size_t i = 0; i < some.input_types.size(); ++i) shorten(some.input_types[i], cut.inputs[i]);
  for (std::size_t i = 0; i < some.result_types.size(); ++i) shorten(some.result_types[i], cut.results[i]);
  for (std::size_t i = 0; i < some.steps.size(); ++i) shorten(some.steps[i].type, cut.steps[i]);
  some.rows = end - begin;
  some.all_rows = cut.rows;
  return some;
}

}  // namespace cleave::kernels
