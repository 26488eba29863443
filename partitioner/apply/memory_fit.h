// The accelerator's memory for programs made from graphs. What counts is the peak, since values that are never needed at once share
// storage; the solver knows only the sum of all copies. So the plain minimum cut comes first, and only if its program does not fit it is
// cut again with a capacity, smaller and smaller, until it does.
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
  double capacity_bytes = 0;     ///< of all copies on the accelerator; the cut under it led there, and its bound and gap refer to it
  std::vector<NodeId> kept_off;  ///< what only the lack of memory keeps on the host
  MemoryShortage shortage;
};

/// The cheapest found whose program fits, in place of `unlimited`, whose program does not. An Error that names the peak and its values if
/// nothing fits.
Result<FittedPlan> fit_memory(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited,
                              const FindPeak& find_peak, double memory_bytes);

}  // namespace cleave::planner
