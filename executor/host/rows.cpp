#include "executor/host/rows.h"

#include <algorithm>

#include "graph/ops/rules.h"

namespace cleave::runtime::host {
namespace {

constexpr std::size_t kOperands = 3;
constexpr std::int64_t kPartBytes = 32 << 10;  ///< bytes of the widest operand or of the result in one piece of the work

/// The axes of the result, innermost first, with each operand's step along them. Neighbouring axes that all operands traverse as one are
/// merged.
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

/// A call's operands, and the axes along which they are traversed.
struct Walk {
  const KernelCall& call;
  RowLoop loop;
  Axes axes;
  std::array<std::int64_t, kOperands> sizes{};
  std::int64_t result_size;

  /// Computes results `begin` to `end`, row by row.
  void run(std::int64_t begin, std::int64_t end) const {
    std::array<std::int64_t, ops::kMaxRank + 1> index{};
    std::array<const std::byte*, kOperands> operands{};
    std::array<std::int64_t, kOperands> inner{};
    for (std::size_t k = 0; k < kOperands; ++k) {
      operands[k] = call.inputs[k < call.inputs.size() ? k : 0].data;
      inner[k] = axes.step[k][0];
    }
    std::int64_t rest = begin;
    for (std::size_t axis = 0; axis < axes.count; rest /= axes.extent[axis++]) {
      index[axis] = rest % axes.extent[axis];
      for (std::size_t k = 0; k < kOperands; ++k) operands[k] += sizes[k] * axes.step[k][axis] * index[axis];
    }
    while (begin < end) {
      const std::int64_t row = std::min(end - begin, axes.extent[0] - index[0]);
      loop(operands.data(), inner.data(), call.results[0].data + begin * result_size, row);
      begin += row;
      for (std::size_t k = 0; k < kOperands; ++k) operands[k] -= sizes[k] * inner[k] * index[0];
      index[0] = 0;
      for (std::size_t axis = 1; axis < axes.count; ++axis) {
        const bool wraps = ++index[axis] == axes.extent[axis];
        for (std::size_t k = 0; k < kOperands; ++k) {
          operands[k] += sizes[k] * axes.step[k][axis] * (wraps ? 1 - axes.extent[axis] : 1);
        }
        if (!wraps) break;
        index[axis] = 0;
      }
    }
  }
};

}  // namespace

void run_rows(const KernelCall& call, RowLoop loop) {
  const TensorType& result = *call.results[0].type;
  const std::int64_t total = result.elements();
  if (total == 0) return;
  Walk walk{call, loop, axes_of(call), {}, size_of(result.dtype)};
  if (walk.axes.count == 0) walk.axes.extent[walk.axes.count++] = 1;
  std::int64_t widest = walk.result_size, bytes = result.bytes();
  for (std::size_t k = 0; k < kOperands; ++k) {
    const TensorType& operand = *call.inputs[k < call.inputs.size() ? k : 0].type;
    walk.sizes[k] = size_of(operand.dtype);
    widest = std::max(widest, walk.sizes[k]);
    if (k < call.inputs.size()) bytes += operand.bytes();
  }
  const bool alone = bytes < Workers::kWorthwhileBytes;
  call.workers.each_part(total, alone ? total : kPartBytes / widest, [&](std::int64_t begin, std::int64_t end) { walk.run(begin, end); });
}

}  // namespace cleave::runtime::host
