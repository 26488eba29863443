// Whether a program fits into the memory that this process may use on the host, decided before its first run: a control group kills a
// process that uses more than its limit.
#pragma once

#include <cstdint>

#include "executor/memory/memory_plan.h"
#include "executor/runtime.h"
#include "graph/base/host_memory.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Programs that need less are not looked at.
constexpr std::int64_t kWorthLooking = 64LL << 20;

/// Bytes of the host's memory that runs of one executor need beside what the caller and the program's constants have already: the host's
/// arena, the outputs that are computed in memory of their own, and the arenas of accelerators that are simulated in this memory.
std::int64_t host_bytes(const IdVector<DeviceId, MemoryPlan>& plans, bool simulates);

/// Bytes of the rooms for values under way that a program's channels have beyond the default depth, in the host's memory.
std::int64_t deep_bytes(const Program& program);

/// Whether the process, which has `used` bytes, may have `needed` more.
bool may_use(std::int64_t needed, const HostMemory& memory, std::int64_t used);

/// An Error (machine) if the process, which has `used` bytes, may not have so many more.
Status fits_host(const Program& program, const IdVector<DeviceId, MemoryPlan>& plans, bool simulates, const HostMemory& memory,
                 std::int64_t used);

}  // namespace cleave::runtime
