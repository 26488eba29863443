// Lines: a tensor as lines along one axis, and how the threads of a block share them. For kernels in which each element of a line depends
// on the others: softmax, running sums.
#pragma once

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

struct Lines {
  std::int64_t before = 1, length = 1, behind = 1;  ///< the extents before, along and after the axis
  [[nodiscard]] std::int64_t count() const { return before * behind; }
};
Lines lines_along(const TensorType& type, int axis);

/// How a block of kLineBlock threads divides its lines: `along` threads for each of `across` lines.
inline constexpr std::int64_t kLineBlock = 256;
struct LineTeam {
  std::int64_t along = 1, across = kLineBlock;
  bool along_first = true;  ///< neighboring threads share a line
};

/// Declares `place` (the thread's position along its line), `line` (its number), `there` (true if that line exists), `base` (its offset),
/// and the shared memory `room` that device/lines.cuh needs (eight bytes for each of a thread's numbers); sets grid and block.
void declare_team(KernelText& kernel, const Lines& lines, const LineTeam& team, std::int64_t numbers_a_thread = 1);

}  // namespace cleave::runtime::cuda
