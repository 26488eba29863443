// Queries on memory plans for tests.
#pragma once

#include <cstddef>

#include "executor/memory/plan_memory.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The number of copies that the plan makes between two iterations of its loops.
inline std::size_t trip_moves(const MemoryPlan& plan) {
  std::size_t moves = 0;
  for (const auto& block : plan.blocks)
    for (const StepPlan& step : block) moves += step.trip.size();
  return moves;
}

/// Whether two ranges of one arena overlap.
inline bool overlap(const Range& a, const Range& b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace cleave::testing
