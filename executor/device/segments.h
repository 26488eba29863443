// Segments: several kernel launches, and copies inside the arena, that a device prepares together and launches as one command.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/device/device.h"

namespace cleave::runtime {

/// A kernel launch, or a copy inside the arena: one of several that are prepared as one command.
struct DeviceStep {
  KernelId kernel;  ///< invalid: a copy
  Range to, from;
  NodeId node;             ///< launches: the node that the kernel runs for
  std::int64_t order = 0;  ///< launches: the last number of its position
};
using SegmentId = Id<struct SegmentTag>;

class Segments {
 public:
  virtual ~Segments() = default;
  /// Whether a kernel may be part of a segment.
  [[nodiscard]] virtual bool joins(KernelId kernel) const = 0;
  /// Prepares steps that are launched as one command; each of their kernels must satisfy `joins`. Must be called after all kernels are
  /// prepared.
  virtual SegmentId prepare(std::vector<DeviceStep> steps) = 0;
  virtual Status launch(SegmentId segment, const Origin& origin) = 0;  ///< on `compute`
};

}  // namespace cleave::runtime
