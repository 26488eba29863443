// Overlap: finds the host operations that run piece by piece while an operand is still arriving over a channel, or while a result is
// already leaving, and computes which chunks each range of pieces needs or completes. Decided once, from the program and the kernels; knows
// no run.
#pragma once

#include <functional>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

struct Overlap {
  /// A range of the kernel's pieces that run in one go.
  struct Range {
    std::int64_t end = 0;  ///< number of the first piece after the range
    double share = 0;      ///< fraction of the whole call
  };
  struct OverlappedTransfer {
    ChannelId channel;
    ValueId value;
    std::vector<std::size_t> parts;  ///< one entry a range: chunks that must have arrived before it, or that are complete after it
  };
  std::vector<Range> ranges;
  std::vector<OverlappedTransfer> coming, leaving;
};

/// A kernel and the values that it reads and writes.
struct PlacedKernel {
  const HostKernel* kernel = nullptr;  ///< null: the node runs with a later one, or is no operation
  const std::vector<ValueId>* reads = nullptr;
  const std::vector<ValueId>* writes = nullptr;
};

/// Finds the operations right after the receives of large operands, or right before the sends of large results, and their transferred
/// values. Their kernels may turn out to have no pieces, which `cut` handles.
IdVector<NodeId, Overlap> find_overlaps(const Prepared& prepared, const std::function<PlacedKernel(NodeId)>& kernel_of);

/// Cuts a kernel's call into ranges that begin where chunks have arrived, or end where chunks can leave. Removes transfers that gain
/// nothing by that; the Overlap is empty if none gains.
void cut(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared);

}  // namespace cleave::runtime
