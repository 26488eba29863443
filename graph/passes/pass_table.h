// The passes over a Graph as one table, in the order in which they run, and the one loop that runs them: verified after each one in debug
// builds, timed, shown and left out on request (`--print-after`, `--time-passes`, `--disable-pass`).
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

struct PassOptions {
  std::set<std::string, std::less<>> disabled;  ///< names of passes that do not run
  std::function<void(std::string_view pass, const Graph& graph)> after =
      {};           ///< called with the graph after each pass that ran; may be null
  int workers = 1;  ///< threads that call host functions beside the program (HostFunction::beside)
};

struct Pass {
  std::string_view name;     ///< as on the command line
  std::string_view summary;  ///< description in one line
  Graph (*run)(Graph, const PassOptions&);
};
std::span<const Pass> pass_table();

/// The wall-clock time of one step of compilation.
struct StepTime {
  std::string name;
  double seconds = 0;
};

/// An Error (usage) if `name` is none of `known`, which are names of passes or of other steps; it suggests the nearest one.
Status check_pass_name(std::string_view name, const std::vector<std::string>& known);

/// Runs the table on a graph without errors. Adds one row per pass to `times`, unless null.
Graph run_passes(Graph graph, const PassOptions& options = {}, std::vector<StepTime>* times = nullptr);

}  // namespace cleave
