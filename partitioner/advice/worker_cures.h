// The predicted effect of more worker threads: worker_cures() asks for plans of the program with `--workers N` and compares the predicted
// times.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "partitioner/plan.h"

namespace cleave::planner {

/// The predicted time of a run with this many workers; empty if there is no such plan.
using SecondsWithWorkers = std::function<std::optional<double>(int workers)>;

/// The numbers of workers that shorten the run of `plan`, which has `workers`, the best first. It tries 2, the number of calls in one
/// region that workers may make, and the number that would make the data of loops in time.
std::vector<Cure> worker_cures(const Plan& plan, int workers, const SecondsWithWorkers& seconds_with);

/// The cures of an account with those by workers in front. If there are any, the cures by threads of the functions' own are dropped: a flag
/// is less work.
std::vector<Cure> with_worker_cures(std::vector<Cure> cures, const std::vector<Cure>& by_workers);

}  // namespace cleave::planner
