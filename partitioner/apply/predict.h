// Predicts the time of a run of a Program by simulating it: predict() simulates a few iterations of each loop and extrapolates at the last
// pace, and weights each arm of a branch by its probability, so it takes time linear in the program.
#pragma once

#include <optional>
#include <vector>

#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/schedule.h"

namespace cleave::planner {

/// The plan's times of all pieces of work.
StepTimes step_times(const Program& program, const CostedProblem& costed);

class ScheduleRecorder;

/// Simulates a run. `recorder`, if not null, records all work and waits.
Schedule predict(const Program& program, const Transfers& transfers, const CostedProblem& costed, ScheduleRecorder* recorder = nullptr);
/// Simulates a run with these times for its pieces of work.
Schedule predict_with(const StepTimes& times, const Program& program, const Transfers& transfers, const CostedProblem& costed);
/// The use of the channels at the depths that `program` gives them. Empty if no loop has bursts.
std::optional<ChannelUse> predict_use(const StepTimes& times, const Program& program, const Transfers& transfers,
                                      const CostedProblem& costed);
/// The pieces of work on the critical path of a run. Sets `schedule` to the schedule of that run.
std::vector<PathPiece> critical_path(const StepTimes& times, const Program& program, const Transfers& transfers,
                                     const CostedProblem& costed, Schedule& schedule);

}  // namespace cleave::planner
