// The accelerator's memory for programs made from graphs. What counts is the peak, since values that are never needed at once share
// storage; the solver knows only a sum. So the plain minimum cut comes first. If its program does not fit, it is cut again with a capacity
// for what meets at the peak, moment after moment, until it does; and with one for all copies together, smaller and smaller.
#pragma once

#include <functional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

/// What a device's share of a program takes of its memory.
struct MemoryPeak {
  double bytes = 0;
  std::vector<ValueId> largest;  ///< what lies there at the peak, greatest first; not all of it
  /// Values that share storage, and its size.
  struct Storage {
    std::vector<ValueId> values;
    double bytes = 0;
  };
  std::vector<Storage> held;  ///< what lies there at the peak
};

/// Given by whoever lays memory out.
using FindPeak = std::function<MemoryPeak(const Program&, DeviceId)>;

/// As if no two values shared storage.
MemoryPeak peak_without_sharing(const Program& program, DeviceId device);

/// Whether the program surely or, where that is not sure, by `find_peak` fits.
bool fits_memory(const Program& program, const FindPeak& find_peak, double memory_bytes);

/// What a program would need of the accelerator's memory if there were enough of it, and how fast it would then be.
struct MemoryShortage {
  MemoryPeak peak;
  double memory_bytes = 0;  ///< what there is
  double seconds = 0;       ///< a run with enough, predicted
};

/// A plan whose program fits.
struct FittedPlan {
  WorkedOutPlan plan;
  double capacity_bytes = 0;     ///< of all copies on the accelerator, as if none shared storage: the plan stays below
  std::vector<NodeId> kept_off;  ///< what only the lack of memory keeps on the host
  MemoryShortage shortage;
};

/// The cheapest found whose program fits, in place of `unlimited`, whose program does not. An Error that names the peak and its values if
/// nothing fits.
Result<FittedPlan> fit_memory(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited,
                              const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
