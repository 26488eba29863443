// Overlap: which operations of the host run piece by piece while an operand is still coming over a channel, or a result already leaves over
// one, and how far each piece needs what comes and gives what leaves. Decided once, from the program and the kernels; knows no run.
#pragma once

#include <functional>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/run/prepared.h"

namespace cleave::runtime {

struct Overlap {
  /// Some pieces of the kernel, run in one go.
  struct Range {
    std::int64_t end = 0;  ///< pieces
    double share = 0;      ///< of the whole call
  };
  struct Crossing {
    ChannelId channel;
    ValueId value;
    std::vector<std::size_t> parts;  ///< by range: that must have come before it; that are there after it
  };
  std::vector<Range> ranges;
  std::vector<Crossing> coming, leaving;
};

/// A kernel and the values that it reads and writes.
struct PlacedKernel {
  const HostKernel* kernel = nullptr;  ///< null: the node runs with a later one, or is no operation
  const std::vector<ValueId>* reads = nullptr;
  const std::vector<ValueId>* writes = nullptr;
};

/// Of operations right behind the receives of large operands, or right before the sends of large results, what crosses there. Their
/// kernels need not have pieces: `cut` says.
IdVector<NodeId, Overlap> find_overlaps(const Prepared& prepared, const std::function<PlacedKernel(NodeId)>& kernel_of);

/// Cuts a kernel's call so that a range begins where parts have come, or ends where parts can leave. What gains nothing by that is left
/// out; nothing is left where nothing gains.
void cut(Overlap& overlap, const PlacedKernel& placed, const Prepared& prepared);

}  // namespace cleave::runtime
