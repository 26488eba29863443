// Channel depths: how many values of each channel may be under way at once. Two let a steady producer run ahead. Where a consumer, or a
// producer, is slow every n-th trip of a loop and fast on average, the other side waits at a channel of two, and works on at a deeper one.
#pragma once

#include <vector>

#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

inline constexpr int kMostDepth = 64;                           ///< that is planned
inline constexpr double kMostDeepBytes = 1024.0 * 1024 * 1024;  ///< of values beyond the default depth: page-locked memory is scarce

/// A channel that is less deep than it should be.
struct LimitedDepth {
  ChannelId channel;
  int wanted = 0;  ///< with so many the accelerator would not wait
};

struct ChannelDepths {
  double slot_bytes = 0;              ///< of the host's memory: room for the values of all channels
  double memory_bytes = 0;            ///< the host's; 0: not known
  std::vector<LimitedDepth> limited;  ///< for lack of memory
  double lost_seconds = 0;            ///< by which a run is predicted to take longer for that
  int given = 0;                      ///< by the user, for every channel; 0: planned
};

/// Bytes of all channels' room.
double slot_bytes(const Program& program);

/// Where waiting for room makes a run longer, gives the channel the smallest depth at which the accelerator is predicted not to wait for
/// room, or not for values that the host could have sent before. As far as memory allows: the program's peak on the host and the room of
/// all channels together are at most `memory_bytes` (0: not known), and what is beyond the default at most kMostDeepBytes. Rooms lie in the
/// host's memory; an accelerator's holds nothing of them.
ChannelDepths plan_depths(Program& program, const Transfers& transfers, const CostedProblem& costed, const FindPeak& find_peak,
                          double memory_bytes);

/// The same for a plan, which is predicted anew; all channels get the depth `given` if that is not 0.
ChannelDepths give_depths(WorkedOutPlan& plan, const CostedProblem& costed, const FindPeak& find_peak, double memory_bytes, int given);

}  // namespace cleave::planner
