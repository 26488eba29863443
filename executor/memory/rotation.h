// Rotation: where a loop's trips need no copies because what is carried changes places with what is yielded to it. Says which storages
// can; the memory plan holds them for the whole loop, and whoever runs the loop prepares its steps once for each turn. Knows no device.
#pragma once

#include <cstddef>
#include <vector>

#include "executor/memory/liveness.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct FoundRotation {
  std::size_t block = 0, step = 0;  ///< the loop
  Rotation rotation;                ///< what brings all home is not known yet
};

/// Of loops that have no such loop inside: what runs more often comes first, and no step is prepared for turns of two loops. `plan`: which
/// values share storage.
std::vector<FoundRotation> find_rotations(const Graph& graph, const DeviceProgram& program, const Liveness& liveness,
                                          const MemoryPlan& plan);

/// By block: the rotating loop in whose trips it is walked, as an index into `found`; -1: none.
std::vector<std::int32_t> rotation_of_blocks(const DeviceProgram& program, const std::vector<FoundRotation>& found);

}  // namespace cleave::runtime
