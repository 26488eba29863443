// find_dependences: the dependences between the steps of a segment, computed from the memory that they touch. Pure: knows no device.
#pragma once

#include <span>
#include <vector>

#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime::cuda {

struct Touched {
  std::vector<Range> reads, writes;
};

/// For each step, the earlier steps that it must directly follow, latest first: those that write memory that it touches, or read memory
/// that it writes. Steps that another step of the list already follows are left out (transitive reduction).
std::vector<std::vector<std::size_t>> find_dependences(std::span<const Touched> steps);

}  // namespace cleave::runtime::cuda
