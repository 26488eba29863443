// Rotation: where a loop's trips need no copies because what is carried changes places with what is yielded to it, and where what crosses
// in one trip need not wait for the trip before, since it has two places. Says which storages can; the memory plan holds them for the whole
// loop, and whoever runs the loop prepares its steps once for each turn. Knows no device.
#pragma once

#include <cstddef>
#include <vector>

#include "executor/memory/liveness.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct FoundRotation {
  std::size_t block = 0, step = 0;     ///< the loop
  Rotation rotation;                   ///< what brings all home is not known yet
  std::vector<StorageIndex> crossing;  ///< what is sent or received and shall take turns among as many places:
  std::size_t places = 2;
};

/// Of loops that have no such loop inside: what runs more often comes first, and no step is prepared for turns of two loops. `plan`: which
/// values share storage. `twice_from`: what crosses in a loop's trips so many bytes at once shall have two places; 0: nothing.
std::vector<FoundRotation> find_rotations(const Program& program, DeviceId device, const Liveness& liveness, const MemoryPlan& plan,
                                          std::int64_t twice_from);

/// By block: the rotating loop in whose trips it is walked, as an index into `found`; -1: none.
std::vector<std::int32_t> rotation_of_blocks(const DeviceProgram& program, const std::vector<FoundRotation>& found);

}  // namespace cleave::runtime
