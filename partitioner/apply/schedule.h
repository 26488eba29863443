// Schedule: how long a run of a Program takes when host, accelerator and one copy engine a direction work at once, by the cost model.
// Each loop is simulated for a few iterations and extrapolated at its last pace, an arm counts by its probability, so time is linear in the
// program. A model, not a promise: what really happens is the executor's timeline.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// Time in which the accelerator could do nothing but wait, within the run or one execution of a loop.
struct Waiting {
  NodeId loop;              ///< none: the whole run
  double seconds = 0;       ///< elapsed there
  double wait_seconds = 0;  ///< of these, the accelerator waiting for a value or a decision of the host
  ChannelId worst;          ///< the channel it waits for longest there; none: a decision
  NodeId worst_control;     ///< the control node whose decision it waits for longest, if longer than for any value
};

/// When a transfer's value comes, beside when it is wanted; in a run.
struct TransferTime {
  double seconds = 0;         ///< of copies, of packets its part: at most what the transfer takes by itself
  double waited_seconds = 0;  ///< its reader has nothing to do until it is there: for the copy, and for what had to come before
  double hidden_seconds = 0;  ///< of what the copies take: nobody waits meanwhile
};

struct Schedule {
  double seconds = 0;
  std::vector<TransferTime> transfers;  ///< as those of Transfers
  std::vector<Waiting> waiting;         ///< the run, then every loop that the accelerator walks, in program order
};

class ScheduleRecorder;

/// `recorder` (none: null) is told who does what when.
Schedule predict(const Program& program, const Transfers& transfers, const CostedProblem& costed, ScheduleRecorder* recorder = nullptr);

}  // namespace cleave::planner
