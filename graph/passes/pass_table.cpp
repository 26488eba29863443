#include "graph/passes/pass_table.h"

#include <algorithm>
#include <chrono>

#include "graph/base/float_environment.h"
#include "graph/base/spelling.h"
#include "graph/passes/drop_dead.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/gather_calls.h"
#include "graph/passes/hoist_invariant.h"
#include "graph/passes/merge_equal.h"
#include "graph/passes/replace_overwritten.h"
#include "graph/passes/verify.h"

namespace cleave {
namespace {

/// Adapts a pass that takes only the graph.
template <Graph (*pass)(Graph)>
Graph run(Graph graph, const PassOptions&) {
  return pass(std::move(graph));
}
Graph run_gather_calls(Graph graph, const PassOptions& options) {
  return gather_calls(std::move(graph), options.workers);
}

constexpr Pass kPasses[] = {
    {"replace-overwritten", "values that a loop overwrites without reading them become zeros", run<replace_overwritten>},
    {"fold-constants", "operations on constants become constants", run<fold_constants>},
    {"hoist-invariant", "what a loop computes alike in every trip is computed before it", run<hoist_invariant>},
    {"merge-equal", "equal operations are computed once", run<merge_equal>},
    {"drop-dead", "what nothing needs is dropped", run<drop_dead>},
    {"gather-calls", "independent calls of host functions stand together", run_gather_calls},
};

void check_made([[maybe_unused]] const Pass& pass, [[maybe_unused]] const Graph& graph) {
#ifndef NDEBUG
  const std::vector<std::string> broken = verify(graph);
  const std::string message = broken.empty() ? "" : "the pass `" + std::string(pass.name) + "` built a malformed graph: " + broken.front();
  if (!broken.empty()) detail::check_failed("verify(graph).empty()", __FILE__, __LINE__, message.c_str());
#endif
}

}  // namespace

std::span<const Pass> pass_table() {
  return kPasses;
}

Status check_pass_name(std::string_view name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  std::string message = "there is no pass `" + std::string(name) + "`";
  if (const auto near = nearest_name(name, names)) {
    message += "; did you mean `" + *near + "`?";
  } else {
    message += "; there are";
    for (const std::string& known : names) message += (&known == names.data() ? " `" : ", `") + known + "`";
  }
  return Error{message, {}, ErrorKind::usage};
}

Graph run_passes(Graph graph, const PassOptions& options, std::vector<StepTime>* times) {
  const StandardFloats standard;
  CLEAVE_CHECK(graph.ok(), "a graph with errors is for reporting only");
  for (const Pass& pass : kPasses) {
    if (options.disabled.contains(pass.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), options);
    if (times) times->push_back({std::string(pass.name), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    check_made(pass, graph);
    if (options.after) options.after(pass.name, graph);
  }
  return graph;
}

}  // namespace cleave
