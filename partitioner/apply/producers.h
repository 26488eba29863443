// Producers: the part of a loop's host work that follows from the trip's number and from values outside the loop, through pure operations
// only: reading and decoding data, for example. Since it needs nothing of the trips before, worker threads make it ahead of the loop's
// other steps. find_producers() finds it; the executor and the schedule follow the Program that lists it.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// The shortest data of one trip, in seconds, that are worth handing to a worker if the program states no `prefetch`.
inline constexpr double kWorthAhead = HostFunction::kWorthAWorker;

/// The producers of the host's program, at most one for each loop, outer loops first. None without workers. A fused kernel belongs to a
/// producer as a whole or not at all. With one worker, a function that the host also calls elsewhere belongs to none, so that it is called
/// by one thread at a time.
std::vector<Producer> find_producers(const Program& program, const CostedProblem& costed);

/// Whether a program of the graph may have producers. Quick, and true too often rather than not often enough.
bool may_have_producers(const Graph& graph, const CostedProblem& costed);

/// The predicted times of the data of each producer. `schedule` must be the program's.
std::vector<ProducedData> find_produced_data(const Program& program, const Transfers& transfers, const CostedProblem& costed,
                                             const Schedule& schedule);

}  // namespace cleave::planner
