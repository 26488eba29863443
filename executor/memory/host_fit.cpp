#include "executor/memory/host_fit.h"

#include "executor/memory/plan_memory.h"
#include "graph/base/units.h"

namespace cleave::runtime {

std::int64_t host_bytes(const IdVector<DeviceId, MemoryPlan>& plans, bool simulates) {
  std::int64_t bytes = 0;
  for (std::size_t d = 0; d < plans.size(); ++d) {
    const MemoryPlan& plan = plans[DeviceId(d)];
    if (DeviceId(d) == kHost || simulates) bytes += plan.arena_bytes;
    if (DeviceId(d) != kHost) continue;
    for (const MemoryPlan::Storage& storage : plan.storages)
      if (storage.external && storage.leaves) bytes += storage.range.bytes;
  }
  return bytes;
}

std::int64_t deep_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId channel(c);
    const int more = program.channels[channel].depth - kDefaultDepth;
    if (more > 0 && !follows(program, channel)) bytes += more * slot_bytes(program, channel);
  }
  return bytes;
}

bool may_use(std::int64_t needed, const HostMemory& memory, std::int64_t used) {
  return needed <= memory.bytes + memory.swap_bytes - used;
}

Status fits_host(const Program& program, const IdVector<DeviceId, MemoryPlan>& plans, bool simulates, const HostMemory& memory,
                 std::int64_t used) {
  const std::int64_t needed = host_bytes(plans, simulates);
  const std::int64_t most = memory.bytes + memory.swap_bytes;
  if (may_use(needed, memory, used)) return {};
  const auto text = [](std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  std::string limit = memory.limited_by.empty() ? "the machine has" : "the control group allows (`" + memory.limited_by + "`)";
  Error error = does_not_fit(program, kHost, plans[kHost], 0);
  error.message = "the program needs " + text(needed) + " of the host's memory beside the " + text(used) + " that this process has, and " +
                  limit + " " + text(most);
  return error;
}

}  // namespace cleave::runtime
