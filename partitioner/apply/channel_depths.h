// Channel depths: how many values of each channel may be in flight at once. Depth two lets a steady producer run ahead. If a producer or
// consumer is slow in every n-th iteration but fast on average, the other side stalls at depth two and keeps working at a larger depth.
#pragma once

#include <vector>

#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

inline constexpr double kMostDeepBytes = 1024.0 * 1024 * 1024;  ///< limit for slots beyond the default depth: they are page-locked

/// A channel that lacks the depth it should have.
struct LimitedDepth {
  ChannelId channel;
  int wanted = 0;  ///< the depth at which the accelerator would not wait
};

struct ChannelDepths {
  double slot_bytes = 0;              ///< host memory taken by the slots of all channels
  double memory_bytes = 0;            ///< host memory; 0: unknown
  std::vector<LimitedDepth> limited;  ///< channels that stayed below the wanted depth for lack of memory
  double lost_seconds = 0;            ///< predicted lengthening of a run due to `limited`
  int given = 0;                      ///< the depth that the user set for every channel; 0: planned
};

/// Bytes of the slots of all channels.
double slot_bytes(const Program& program);

/// Deepens channels where waiting for a free slot lengthens a run. Each gets the smallest depth at which the accelerator is predicted not
/// to wait for a slot, nor for values that the host could have sent earlier. Memory limits this: the program's peak on the host plus all
/// slots must be at most `memory_bytes` (0: unknown), and slots beyond the default depth at most kMostDeepBytes. Slots are in the host's
/// memory; they take none of an accelerator's.
ChannelDepths plan_depths(Program& program, const Transfers& transfers, const CostedProblem& costed, const FindPeak& find_peak,
                          double memory_bytes);

/// Plans the depths of a plan's channels, or sets all to `given` if that is not 0, and predicts the plan's schedule again.
ChannelDepths give_depths(WorkedOutPlan& plan, const CostedProblem& costed, const FindPeak& find_peak, double memory_bytes, int given);

}  // namespace cleave::planner
