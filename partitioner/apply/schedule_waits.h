// The waits of a simulated run: LastWaits keeps the last wait at each channel and decision, from which the waiting times of loops and
// transfers follow, because a loop is extrapolated at its last pace. The simulator (predict.cpp) fills it in; nothing here knows its
// clocks.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

struct LastWaits {
  explicit LastWaits(const Program& program)
      : channel(program.channels.size(), 0), reader(program.channels.size(), 0), decision(program.graph->nodes.size(), 0) {}

  IdVector<ChannelId, double> channel;  ///< the accelerator's wait for the received value, or for a free slot where it sends
  IdVector<ChannelId, double> reader;   ///< the reader's wait, from the end of its last work until the value arrives
  IdVector<NodeId, double> decision;    ///< the accelerator's wait for each decision
};

/// The times of each transfer in a run. `seconds` is the time of one transfer on each channel.
std::vector<TransferTime> transfer_times(const Program& program, const Transfers& transfers, const IdVector<ChannelId, double>& seconds,
                                         const LastWaits& waits);

/// Takes one record for each execution of each loop, and keeps the last one of each loop with the place of its longest wait, in program
/// order.
std::vector<Waiting> worst_waits(const Program& program, const CostedProblem& costed, const LastWaits& waits,
                                 std::vector<Waiting> recorded);

}  // namespace cleave::planner
