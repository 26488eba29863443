// HostOverlap: runs the host's operations that overlap with transfers (prepare/overlap.h), some pieces at a time, as the chunks of their
// operands arrive and those of their results can leave. The virtual clock uses the same ranges and chunks, however a value is really
// transferred.
#pragma once

#include <map>
#include <vector>

#include "executor/run/driver/host_kernels.h"

namespace cleave::runtime {

class HostOverlap {
 public:
  HostOverlap(const Prepared& prepared, HostKernels& kernels, const Transports& transports, HostEnd& end);

  /// Whether the operation overlaps with transfers in this run.
  [[nodiscard]] bool runs(NodeId id) const { return !kernels_.operations().overlaps[id].ranges.empty() && !kernels_.verifies(); }
  /// Adds the seconds spent waiting for chunks of operands to `waited`.
  bool run(const Origin& here, double& waited);
  /// The producer of the first operand that arrives in chunks, on whose behalf the operation waits.
  [[nodiscard]] NodeId awaited(NodeId id) const { return operations_.at(id).coming.front().transport->values().front().producer; }

 private:
  template <class T>
  struct Chunked {
    T* transport = nullptr;
    const std::vector<std::size_t>* chunks = nullptr;  ///< by range
  };
  struct OverlappedOperation {
    std::vector<Chunked<ChunksToHost>> coming;
    std::vector<Chunked<ChunksToDevice>> leaving;
  };

  const Prepared& prepared_;
  HostKernels& kernels_;
  HostEnd& end_;
  std::map<NodeId, OverlappedOperation> operations_;
};

}  // namespace cleave::runtime
