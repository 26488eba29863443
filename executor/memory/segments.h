// Segments: straight-line pieces of an accelerator's step lists, between its synchronization points with the host, which a device may
// prepare and launch as one. Sends, receives, control steps and values that change between iterations end a segment, and so does the
// first reader of a large received value, which may still be arriving. Independent of devices.
#pragma once

#include <functional>
#include <vector>

#include "executor/memory/memory_plan.h"
#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

struct Segment {
  std::vector<NodeId> nodes;  ///< operations, in order
  std::size_t block = 0;      ///< the block of all of them
  /// The copies at the end of a loop's iteration that follow immediately; null: none.
  const std::vector<Move>* moves = nullptr;
};

/// Segments of at least `shortest` operations and copies. `joins`: whether an operation may be part of a segment.
std::vector<Segment> find_segments(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t shortest,
                                   const std::function<bool(NodeId)>& joins);

}  // namespace cleave::runtime
