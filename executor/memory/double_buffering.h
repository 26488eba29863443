// Double buffering: finds rotating buffers, with which a loop's iterations need no copies between carried and yielded values, and a
// transfer of one iteration need not wait for the iteration before. Chooses the storages only: the memory plan reserves them for the whole
// loop, and the code that runs the loop prepares its steps once for each turn. Independent of devices.
#pragma once

#include <cstddef>
#include <vector>

#include "executor/memory/liveness.h"
#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct FoundDoubleBuffers {
  std::size_t block = 0, step = 0;        ///< the loop
  DoubleBuffers double_buffers;           ///< without `home`, which the memory plan adds
  std::vector<StorageIndex> transferred;  ///< storages of transferred values, each to rotate among `places` buffers:
  std::size_t places = 2;
};

/// Finds the rotating loops. Only a loop without a rotating loop inside rotates: inner loops run more often, and no step is prepared for
/// the turns of two loops. `plan` says which values share storage. `twice_from`: transfers of at least so many bytes in each iteration are
/// double-buffered; 0: none are.
std::vector<FoundDoubleBuffers> find_double_buffers(const Program& program, DeviceId device, const Liveness& liveness,
                                                    const MemoryPlan& plan, std::int64_t twice_from);

/// By block: the rotating loop that executes it, as an index into `found`; -1: none.
std::vector<std::int32_t> index_double_buffers(const DeviceProgram& program, const std::vector<FoundDoubleBuffers>& found);

}  // namespace cleave::runtime
