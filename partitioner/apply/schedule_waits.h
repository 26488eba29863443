// What a simulated run waited for: the last wait at every channel and decision, and what follows from these for loops and transfers, as a
// loop goes on at its last pace. Filled by the simulator (schedule.cpp), which alone knows clocks.
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

  IdVector<ChannelId, double> channel;  ///< the accelerator: for the value, or where it sends for room
  IdVector<ChannelId, double> reader;   ///< who reads the value, from its last work until the value is there
  IdVector<NodeId, double> decision;    ///< the accelerator
};

/// `seconds`: of one transfer of each channel.
std::vector<TransferTime> transfer_times(const Program& program, const Transfers& transfers, const IdVector<ChannelId, double>& seconds,
                                         const LastWaits& waits);

/// Of a record for every execution of every loop: the last one of each, with the longest wait of a run inside; in program order.
std::vector<Waiting> worst_waits(const Program& program, const CostedProblem& costed, const LastWaits& waits,
                                 std::vector<Waiting> recorded);

}  // namespace cleave::planner
