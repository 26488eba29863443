// Apart: where what crosses in a loop's trips would lie where the loop carries something. It could not take turns there (rotation.h), and
// each trip would wait for the copy of the one before. Says which values had better not share storage. Knows no device.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/memory/crossings.h"
#include "executor/memory/liveness.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct Apart {
  IdVector<ValueId, std::uint8_t> crosses;  ///< is not written over an operand, nor overwritten by a result
  IdVector<ValueId, std::uint8_t> carried;  ///< shares with what it starts from, and with what it leaves, and nothing else

  [[nodiscard]] bool allows(const Sharing& sharing) const;
};

/// Of what crosses in `loops`.
Apart keep_apart(const Program& program, DeviceId device, const std::vector<Crossing>& crossings, const std::vector<StepPlace>& loops);

/// In whose trips something crosses that has one place.
std::vector<StepPlace> waiting_loops(const std::vector<Crossing>& crossings, const MemoryPlan& plan);

/// Of `loops`, those in which nothing waits in `apart`, and for which nothing is copied that is not copied in `plan`.
std::vector<StepPlace> better_loops(const std::vector<StepPlace>& loops, const std::vector<Crossing>& crossings,
                                    const DeviceProgram& program, const MemoryPlan& plan, const MemoryPlan& apart);

}  // namespace cleave::runtime
