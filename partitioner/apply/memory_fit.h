// Fits a plan into the accelerator's memory. The peak must fit, since values with disjoint lifetimes share storage, but the solver can only
// limit a sum. So fit_memory() starts from the unconstrained minimum cut and, while the peak is too high, solves again: with a capacity for
// the values held at the peak, one peak after another, and with a shrinking capacity for the sum of all copies.
#pragma once

#include <functional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

/// The peak memory of a device's share of a program.
struct MemoryPeak {
  double bytes = 0;
  NodeId at;                     ///< the operation at which it is reached; none: unknown
  std::vector<ValueId> largest;  ///< the largest values held at the peak, largest first; not a complete list
  /// Values that share storage, and its size.
  struct Storage {
    std::vector<ValueId> values;
    double bytes = 0;
  };
  std::vector<Storage> held;  ///< all storage held at the peak
};

/// Computes the peak of a program on a device; provided by the executor, which does the memory layout.
using FindPeak = std::function<MemoryPeak(const Program&, DeviceId)>;

/// The peak if no two values shared storage.
MemoryPeak peak_without_sharing(const Program& program, DeviceId device);

/// Whether the program fits: without any sharing of storage, or else according to `find_peak`. True if `memory_bytes` is 0, unknown.
bool fits_memory(const Program& program, const FindPeak& find_peak, double memory_bytes);

/// The memory that a program would need on the accelerator if memory were unlimited, and how fast it would then be.
struct MemoryShortage {
  MemoryPeak peak;
  double memory_bytes = 0;  ///< the memory that the device has
  double seconds = 0;       ///< predicted time of a run with enough memory
};

/// A plan whose program fits into memory.
struct FittedPlan {
  WorkedOutPlan plan;
  double capacity_bytes = 0;     ///< the limit on the sum of all copies on the accelerator, without sharing, that the plan keeps
  std::vector<NodeId> kept_off;  ///< nodes that are on the host only for lack of memory
  MemoryShortage shortage;
};

/// Returns the cheapest plan found whose program fits, as a replacement for `unlimited`, which does not. If none fits, returns an Error
/// that names the peak and its values.
Result<FittedPlan> fit_memory(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited,
                              const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
