// The reference executor: walks the Graph node by node and runs each op's reference implementation (`reference`). It is slow and obvious,
// and all other executors are tested against it.
#pragma once

#include "executor/arguments/run_options.h"
#include "graph/graph.h"

namespace cleave::runtime {

Result<RunResult> run_reference(const Graph& graph, const RunOptions& options, const std::vector<std::string>& library_paths = {});

}  // namespace cleave::runtime
