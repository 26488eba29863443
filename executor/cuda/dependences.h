// Dependences: what of a straight piece of work must wait for what, by the memory that its steps touch. Pure: knows no device.
#pragma once

#include <span>
#include <vector>

#include "executor/device/device.h"

namespace cleave::runtime::cuda {

struct Touched {
  std::vector<Range> reads, writes;
};

/// For each step the earlier ones that it must directly follow, latest first: those that write what it touches, or read what it writes,
/// without those that one of the others follows already.
std::vector<std::vector<std::size_t>> find_dependences(std::span<const Touched> steps);

}  // namespace cleave::runtime::cuda
