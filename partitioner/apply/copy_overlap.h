// Copy/compute overlap: which operations of a device can process large operands in parts while these still arrive, or have their large
// results sent in parts while computing them. find_copy_overlaps() looks at the position of steps only; its caller says which kernels there
// are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "graph/kernel/row_cut.h"
#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// The channels that one operation overlaps with: large operands that arrive, and large results that leave.
struct CopyOverlap {
  std::vector<ChannelId> coming, leaving;
};
/// The overlaps by operation. Operations without any have no entry.
using Overlaps = std::map<NodeId, CopyOverlap>;

/// The values that a kernel reads and writes. Null: the node is no operation, or it runs as part of a kernel that stands at a later node.
struct KernelValues {
  const std::vector<ValueId>*reads = nullptr, *writes = nullptr;
};

/// Finds the overlaps among steps that have a kernel. A value is large if it has more than `part_bytes`; values in coalesced transfers are
/// left out. On the host, the operation must directly follow the receive or directly precede the send, so that the order of steps, and
/// hence every wait, stays the same. On an accelerator, copies are enqueued ahead, so any first reader of the value in the same block
/// qualifies; its results are always sent as a whole.
Overlaps find_copy_overlaps(const Program& program, DeviceId device, std::int64_t part_bytes,
                            const std::function<KernelValues(NodeId)>& kernel_of);

/// Removes from `coming` the channels whose value a kernel with operands `reads` needs as a whole, not row by row.
void keep_rows(std::vector<ChannelId>& coming, const Program& program, const std::vector<ValueId>& reads, const RowCut& cut);

/// The number of launches into which an accelerator splits a kernel of `seconds` that reads a value arriving in `parts`. It is at most
/// eight, and the launches, `start_seconds` each, take at most half as long as the work, since the kernel may not have had to wait at all.
std::int64_t launches_for(std::int64_t parts, double seconds, double start_seconds);

/// The overlaps that a plan counts on: in parts of kPartBytes, for kernels that can be cut into rows (graph/kernel/row_cut.h).
Overlaps planned_copy_overlaps(const Program& program, DeviceId device);

}  // namespace cleave::planner
