#include "executor/host/rows.h"

#include "graph/ops/rules.h"

namespace cleave::runtime::host {
namespace {

constexpr std::size_t kOperands = 3;

/// Axes of the result, innermost first, with each operand's step along them. Axes that all operands walk as one are merged.
struct Axes {
  std::size_t count = 0;
  std::array<std::int64_t, ops::kMaxRank + 1> extent{};
  std::array<std::array<std::int64_t, ops::kMaxRank + 1>, kOperands> step{};

  void add(std::int64_t size, const std::array<std::int64_t, kOperands>& steps) {
    if (size == 1) return;
    bool merges = count > 0;
    for (std::size_t k = 0; k < kOperands && merges; ++k) merges = steps[k] == step[k][count - 1] * extent[count - 1];
    if (merges) {
      extent[count - 1] *= size;
      return;
    }
    extent[count] = size;
    for (std::size_t k = 0; k < kOperands; ++k) step[k][count] = steps[k];
    ++count;
  }
};

Axes axes_of(const KernelCall& call) {
  Axes axes;
  const Shape& shape = call.results[0].type->shape;
  std::array<std::int64_t, kOperands> stride{1, 1, 1};
  for (std::size_t from_end = 0; from_end < shape.size(); ++from_end) {
    std::array<std::int64_t, kOperands> steps{};
    for (std::size_t k = 0; k < kOperands; ++k) {
      const Shape& operand = call.inputs[k < call.inputs.size() ? k : 0].type->shape;
      std::int64_t size = from_end < operand.size() ? operand[operand.size() - 1 - from_end] : 1;
      steps[k] = size == 1 ? 0 : stride[k];
      stride[k] *= size;
    }
    axes.add(shape[shape.size() - 1 - from_end], steps);
  }
  return axes;
}

}  // namespace

void run_rows(const KernelCall& call, RowLoop loop) {
  std::int64_t total = call.results[0].type->elements();
  if (total == 0) return;
  Axes axes = axes_of(call);
  if (axes.count == 0) axes.extent[axes.count++] = 1;
  std::array<const std::byte*, kOperands> operands{};
  std::array<std::int64_t, kOperands> sizes{}, inner{};
  for (std::size_t k = 0; k < kOperands; ++k) {
    const TensorView& operand = call.inputs[k < call.inputs.size() ? k : 0];
    operands[k] = operand.data;
    sizes[k] = size_of(operand.type->dtype);
    inner[k] = axes.step[k][0];
  }
  std::byte* out = call.results[0].data;
  const std::int64_t row = axes.extent[0], row_bytes = row * size_of(call.results[0].type->dtype);
  std::array<std::int64_t, ops::kMaxRank + 1> index{};
  for (std::int64_t done = 0; done < total; done += row, out += row_bytes) {
    loop(operands.data(), inner.data(), out, row);
    for (std::size_t axis = 1; axis < axes.count; ++axis) {
      bool wraps = ++index[axis] == axes.extent[axis];
      for (std::size_t k = 0; k < kOperands; ++k) {
        operands[k] += sizes[k] * axes.step[k][axis] * (wraps ? 1 - axes.extent[axis] : 1);
      }
      if (!wraps) break;
      index[axis] = 0;
    }
  }
}

}  // namespace cleave::runtime::host
