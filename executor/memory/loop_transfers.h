// Loop transfers: the values that a device sends and receives by a copy engine in the iterations of its loops. In one buffer, an
// iteration's copy waits for the kernels of the iteration before, or they for it; in two buffers, they overlap (double_buffering.h).
// Independent of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// The position of a control step.
struct StepPosition {
  std::size_t block = 0, step = 0;
  friend bool operator==(const StepPosition&, const StepPosition&) = default;
};

/// By block: the innermost loop that executes it in each iteration.
std::vector<std::optional<StepPosition>> loops_around(const DeviceProgram& program);

/// The values of one transfer: coalesced ones, or a single one.
struct LoopTransfer {
  StepPosition loop;            ///< the innermost loop around the transfer
  std::vector<ValueId> values;  ///< without empty values
};

/// The transfers of at least `bytes` in loops that may have more than one iteration, in program order. Smaller ones are copied in the
/// stream of the steps, where a second buffer saves no wait.
std::vector<LoopTransfer> find_loop_transfers(const Program& program, DeviceId device, std::int64_t bytes);

}  // namespace cleave::runtime
