// Alongside: which operations of a device can be done, part by part, while large values that they read are still coming, or large values
// that they make already leave. Places alone: whether there are kernels for that, who has the kernels says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/row_cut.h"

namespace cleave::planner {

struct Alongside {
  std::vector<ChannelId> coming, leaving;
};
/// By operation: of those with anything alongside.
using Overlaps = std::map<NodeId, Alongside>;

/// What a kernel reads and writes; nulls: the node runs with a later one, or is no operation.
struct KernelValues {
  const std::vector<ValueId>*reads = nullptr, *writes = nullptr;
};

/// Of the steps with a kernel. Large is what has more than `part_bytes`; what travels in a packet is not meant. The host receives what it
/// needs, and sends what is needed: such operations stand right behind its receives or right before its sends, so that it waits for nothing
/// in another order than without them. An accelerator has copies enqueued: there it is the first that reads the value, in the same block;
/// what it makes leaves as a whole.
Overlaps find_alongside(const Program& program, DeviceId device, std::int64_t part_bytes,
                        const std::function<KernelValues(NodeId)>& kernel_of);

/// Leaves of what comes, for a kernel that reads `reads`, what can be taken row by row.
void keep_rows(std::vector<ChannelId>& coming, const Program& program, const std::vector<ValueId>& reads, const RowCut& cut);

/// In how many launches an accelerator does what takes `seconds` as one, on values that come in `parts`: at most eight, and no more than
/// take half of the work to be started, `start_seconds` each: nobody may have waited for the values.
std::int64_t launches_for(std::int64_t parts, double seconds, double start_seconds);

/// What stands alongside in a plan, in parts of kPartBytes, where the work can be cut into rows (machine/row_cut.h).
Overlaps planned_alongside(const Program& program, DeviceId device);

}  // namespace cleave::planner
