// Host fit: decides before the first run whether a program fits into the host memory that this process may use, because a control group
// kills a process that exceeds its limit.
#pragma once

#include <cstdint>

#include "executor/memory/memory_plan.h"
#include "executor/runtime.h"
#include "graph/base/host_memory.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Bytes below which programs are not checked.
constexpr std::int64_t kWorthLooking = 64LL << 20;

/// Bytes of host memory that one executor's runs need in addition to the caller's arrays and the program's constants: the host's arena, the
/// computed outputs, and the arenas of simulated accelerators.
std::int64_t host_bytes(const IdVector<DeviceId, MemoryPlan>& plans, bool simulates);

/// Bytes of host memory for the channel buffers beyond the default depth.
std::int64_t deep_bytes(const Program& program);

/// Whether the process, which uses `used` bytes, may use `needed` more.
bool may_use(std::int64_t needed, const HostMemory& memory, std::int64_t used);

/// An Error (machine) if the process, which uses `used` bytes, may not use as many more as the plans need.
Status fits_host(const Program& program, const IdVector<DeviceId, MemoryPlan>& plans, bool simulates, const HostMemory& memory,
                 std::int64_t used);

}  // namespace cleave::runtime
