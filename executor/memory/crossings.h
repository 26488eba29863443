// Crossings: what a device sends and receives in the trips of its loops by a copy engine. With one place, the copy of a trip waits for the
// kernels of the trip before it, or they for the copy; with two, they overlap (rotation.h). Knows no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Where a control step stands.
struct StepPlace {
  std::size_t block = 0, step = 0;
  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

/// By block: the innermost loop in whose trips it is walked.
std::vector<std::optional<StepPlace>> loops_around(const DeviceProgram& program);

/// What travels as one.
struct Crossing {
  StepPlace loop;               ///< the innermost one around it
  std::vector<ValueId> values;  ///< that have bytes
};

/// In loops that may have more than one trip, of at least `bytes` at once: what is smaller crosses in the stream of the steps, where no
/// second place saves a wait. In program order.
std::vector<Crossing> find_crossings(const Program& program, DeviceId device, std::int64_t bytes);

}  // namespace cleave::runtime
