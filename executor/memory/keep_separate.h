// SeparateValues: keeps transferred values out of the storage of loop-carried values. Values stored there cannot be double-buffered
// (double_buffering.h), and each iteration would wait for the copy of the one before. Knows no device.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/memory/liveness.h"
#include "executor/memory/loop_transfers.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct SeparateValues {
  IdVector<ValueId, std::uint8_t> transferred;  ///< transferred: not updated in place from an operand, nor overwritten in place by a result
  IdVector<ValueId, std::uint8_t> carried;      ///< loop-carried: shares storage with its initial value and with the loop's result only

  [[nodiscard]] bool allows(const Sharing& sharing) const;
};

/// The values transferred inside `loops` that must not share storage.
SeparateValues keep_separate(const Program& program, DeviceId device, const std::vector<LoopTransfer>& transfers,
                             const std::vector<StepPosition>& loops);

/// The loops with a transferred value that is still single-buffered.
std::vector<StepPosition> waiting_loops(const std::vector<LoopTransfer>& transfers, const MemoryPlan& plan);

/// The loops among `loops` in which no copy waits under `separate`, and which copy nothing under `separate` that they do not copy under
/// `plan`.
std::vector<StepPosition> better_loops(const std::vector<StepPosition>& loops, const std::vector<LoopTransfer>& transfers,
                                       const DeviceProgram& program, const MemoryPlan& plan, const MemoryPlan& separate);

}  // namespace cleave::runtime
