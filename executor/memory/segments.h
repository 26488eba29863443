// Segments: the straight pieces of an accelerator's step lists, between its meetings with the host: what such a device may prepare as one
// and launch at one stroke. Sends, receives, decisions and whatever changes from trip to trip end a piece. Pure: knows no device.
#pragma once

#include <functional>
#include <vector>

#include "executor/memory/memory_plan.h"
#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

struct Segment {
  std::vector<NodeId> nodes;  ///< operations, in order
  std::size_t block = 0;      ///< of all of them
  /// Copies at the end of a loop's trip that follow at once; null: none.
  const std::vector<Move>* moves = nullptr;
};

/// Pieces of at least `shortest` operations and copies. `joins`: whether an operation may be part of one.
std::vector<Segment> find_segments(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t shortest,
                                   const std::function<bool(NodeId)>& joins);

}  // namespace cleave::runtime
