// Crossings: the values that a device sends and receives by a copy engine in the iterations of its loops. In one buffer, an iteration's
// copy waits for the kernels of the iteration before, or they for it; in two buffers, they overlap (rotation.h). Independent of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// The position of a control step.
struct StepPlace {
  std::size_t block = 0, step = 0;
  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

/// By block: the innermost loop that executes it in each iteration.
std::vector<std::optional<StepPlace>> loops_around(const DeviceProgram& program);

/// The values of one transfer: a packet, or a single value.
struct Crossing {
  StepPlace loop;               ///< the innermost loop around the transfer
  std::vector<ValueId> values;  ///< without empty values
};

/// The transfers of at least `bytes` in loops that may have more than one iteration, in program order. Smaller ones are copied in the
/// stream of the steps, where a second buffer saves no wait.
std::vector<Crossing> find_crossings(const Program& program, DeviceId device, std::int64_t bytes);

}  // namespace cleave::runtime
