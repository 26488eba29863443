// The reference executor: walks the Graph, one node after the other, by the ops' meanings. Slow, obvious, the oracle of every other
// executor.
#pragma once

#include "executor/arguments/run_options.h"
#include "graph/graph.h"

namespace cleave::runtime {

Result<RunResult> run_reference(const Graph& graph, const RunOptions& options, const std::vector<std::string>& library_paths = {});

}  // namespace cleave::runtime
