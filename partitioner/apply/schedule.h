// Schedule: the predicted time of a run of a Program when the host, the accelerators and one copy engine per direction of each link work
// in parallel (predict.h). It is a model; the executor's timeline shows the actual run.
#pragma once

#include <array>
#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// Time in which the accelerator waits and has nothing else to do, in the whole run or in one execution of a loop. The waits of several
/// accelerators add up.
struct Waiting {
  NodeId loop;              ///< none: the whole run
  double seconds = 0;       ///< elapsed time there
  double wait_seconds = 0;  ///< the part of `seconds` in which the accelerator waits for a value or a decision of the host
  ChannelId worst;          ///< the channel with the longest wait there; none: the longest wait is for a decision
  NodeId worst_control;     ///< the control node with the longest wait, if that is longer than for any value
};

/// The times of one transfer in a whole run, and how much of them the reader waits for.
struct TransferTime {
  double seconds = 0;         ///< copying; for a value in a coalesced transfer, its share, which is at most the time of a separate transfer
  double waited_seconds = 0;  ///< the reader has nothing else to do until the value arrives; includes waiting for earlier work
  double hidden_seconds = 0;  ///< the part of `seconds` that overlaps with other work
};

/// The data of one loop that are made ahead.
struct Production {
  NodeId loop;
  double trip_seconds = 0;  ///< a worker's time for the data of one trip
  double pace_seconds = 0;  ///< elapsed time from one trip to the next
};

struct Schedule {
  double seconds = 0;
  std::array<double, 4> busy_seconds{};  ///< by Resource: how long it is at work; of several accelerators and links the busiest one
  double worker_seconds = 0;             ///< how long all workers together are at work
  std::vector<Production> productions;   ///< one a producer that the run reaches
  std::vector<TransferTime> transfers;   ///< one entry for each item of Transfers
  std::vector<Waiting> waiting;          ///< the whole run, then each loop that the accelerator walks, in program order
};

/// The times of all pieces of work: those of the plan, or changed ones, to predict the effect of a change.
struct StepTimes {
  /// By device, for one execution of each node. A fused kernel's time is that of its last operation, the others have 0.
  std::vector<IdVector<NodeId, double>> steps;
  IdVector<ChannelId, double> copies;  ///< by channel, for one transfer
};

/// How full the channels of a run get. Loops are simulated for enough iterations to see a branch that is taken in every n-th one as the
/// burst that it is, not as a fraction of every iteration.
struct ChannelUse {
  double seconds = 0;                        ///< predicted time of a run
  double busiest_seconds = 0;                ///< time at work of the busiest resource: a lower bound on `seconds`
  IdVector<ChannelId, double> full_seconds;  ///< by channel: how long senders wait for a free slot in the simulated iterations; a coalesced
                                             ///< transfer counts at its first channel
  IdVector<ChannelId, int> depth_in_use;     ///< the largest number of values in flight at once; kDefaultDepth at least
};

}  // namespace cleave::planner
