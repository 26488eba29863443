// Schedule: how long a run of a Program takes when host, accelerator and one copy engine a direction work at once, by the cost model.
// Each loop is simulated for a few iterations and extrapolated at its last pace, an arm counts by its probability, so time is linear in the
// program. A model, not a promise: what really happens is the executor's timeline.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "partitioner/apply/critical_path.h"
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
  double hidden_seconds = 0;  ///< seconds of copying hidden behind other work
};

struct Schedule {
  double seconds = 0;
  std::array<double, 4> busy_seconds{};  ///< by Resource: how long it is at work
  std::vector<TransferTime> transfers;   ///< as those of Transfers
  std::vector<Waiting> waiting;          ///< the run, then every loop that the accelerator walks, in program order
};

/// What each piece of work takes. Those of the plan, or others, to ask what a change would be worth.
struct StepTimes {
  std::array<IdVector<NodeId, double>, 2> steps;  ///< one execution on host and accelerator; of what runs as one kernel all with the last
  IdVector<ChannelId, double> copies;             ///< one transfer
};
StepTimes step_times(const Program& program, const CostedProblem& costed);

/// How full the channels of a run get. Loops are followed trip by trip for long enough to see branches that are taken every n-th time as
/// what they are, bursts, and not as a part of every trip.
struct ChannelUse {
  double seconds = 0;                        ///< a run
  double busiest_seconds = 0;                ///< of these, the resource that is at work longest: no run takes less
  IdVector<ChannelId, double> full_seconds;  ///< the sender waits for room, in the trips that are followed; what is first of a packet
  IdVector<ChannelId, int> depth_in_use;     ///< so many values are under way at once at most; kDefaultDepth at least
};

class ScheduleRecorder;

/// `recorder` (none: null) is told who does what when.
Schedule predict(const Program& program, const Transfers& transfers, const CostedProblem& costed, ScheduleRecorder* recorder = nullptr);
/// The same, had each piece of work these times.
Schedule predict_with(const StepTimes& times, const Program& program, const Transfers& transfers, const CostedProblem& costed);
/// The use of channels that have the depths which `program` gives them. Empty where no loop has bursts.
std::optional<ChannelUse> predict_use(const StepTimes& times, const Program& program, const Transfers& transfers,
                                      const CostedProblem& costed);
/// Which work the run consists of, one piece after the other; `schedule` is set to the whole of it.
std::vector<PathPiece> critical_path(const StepTimes& times, const Program& program, const Transfers& transfers,
                                     const CostedProblem& costed, Schedule& schedule);

}  // namespace cleave::planner
