// What more workers would be worth: how long a run is predicted to take with `--workers N`, found by planning the program so.
#pragma once

#include "partitioner/compile.h"

namespace cleave::planner {

/// Adds to the account of `plan`, which is that of `graph` and `options`, the numbers of workers that help: 2, and as many as there are
/// calls in one region that a worker may make. What threads of the functions' own would be worth is then left out: a flag is less work.
void try_workers(const Graph& graph, const PlanOptions& options, Plan& plan);

}  // namespace cleave::planner
