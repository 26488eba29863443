// Plans the memory of a device (memory_plan.h): live ranges, storages that values share, offsets.
#pragma once

#include <cstdint>

#include "executor/memory/fusion.h"
#include "executor/memory/memory_plan.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// The memory that may be spent to save copies and waits.
struct Spending {
  std::int64_t slack = 0;       ///< as for find_liveness()
  bool rotate = false;          ///< values that a loop would copy in each iteration get rotating buffers
  std::int64_t twice_from = 0;  ///< with `rotate`: the smallest transfer that is double-buffered too; 0: none is
};

/// Plans a device's memory. `arrays_external`: inputs, parameters, constants and outputs are arrays outside the arena (the host); else they
/// are in the arena for the whole run.
MemoryPlan plan_memory(const Program& program, DeviceId device, bool arrays_external, const Fusion& fusion = {},
                       const Spending& spending = {});

/// The peak of plan_memory() on a device, with all arrays in the arena; for the planner.
MemoryPeak memory_peak(const Program& program, DeviceId device);

/// The reason why `plan` does not fit into `capacity` bytes (0: unknown, but less than the peak): the peak and its largest values.
Error does_not_fit(const Program& program, DeviceId device, const MemoryPlan& plan, double capacity);

}  // namespace cleave::runtime
