// Predicts the effect of more worker threads: try_workers() plans the program again with `--workers N` and compares the predicted times.
#pragma once

#include "partitioner/compile.h"

namespace cleave::planner {

/// Adds to the account of `plan`, made from `graph` and `options`, the numbers of workers that shorten the run. It tries 2, and the number
/// of calls in one region that workers may make. If any helps, the cures by threads of the functions' own are dropped: a flag is less work.
void try_workers(const Graph& graph, const PlanOptions& options, Plan& plan);

}  // namespace cleave::planner
