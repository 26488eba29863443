// Apart: keeps transferred values out of the storage of loop-carried values. Values stored there cannot be double-buffered (rotation.h),
// and each iteration would wait for the copy of the one before. Knows no device.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/memory/crossings.h"
#include "executor/memory/liveness.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct Apart {
  IdVector<ValueId, std::uint8_t> crosses;  ///< transferred: not updated in place from an operand, nor overwritten in place by a result
  IdVector<ValueId, std::uint8_t> carried;  ///< loop-carried: shares storage with its initial value and with the loop's result only

  [[nodiscard]] bool allows(const Sharing& sharing) const;
};

/// The values transferred inside `loops` that must not share storage.
Apart keep_apart(const Program& program, DeviceId device, const std::vector<Crossing>& crossings, const std::vector<StepPlace>& loops);

/// The loops with a transferred value that is still single-buffered.
std::vector<StepPlace> waiting_loops(const std::vector<Crossing>& crossings, const MemoryPlan& plan);

/// The loops among `loops` in which no copy waits under `apart`, and which copy nothing under `apart` that they do not copy under `plan`.
std::vector<StepPlace> better_loops(const std::vector<StepPlace>& loops, const std::vector<Crossing>& crossings,
                                    const DeviceProgram& program, const MemoryPlan& plan, const MemoryPlan& apart);

}  // namespace cleave::runtime
