// `cleave explain` and `cleave check`: the plan in words, and the diagnostics alone.
#include "partitioner/report/explain.h"

#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

/// Loads and plans; on failure reports and gives the exit code.
std::optional<Plan> planned(const Options& options, const Console& console, int& code) {
  const Graph graph = load_graph(options);
  if (!graph.ok()) {
    code = console.fail(graph.diagnostics);
    return std::nullopt;
  }
  auto plan = make_plan(graph, options);
  if (!plan) {
    code = console.fail(plan.error());
    return std::nullopt;
  }
  code = plan->ok() ? kDone : kUserError;
  return *std::move(plan);
}

}  // namespace

int explain_command(const Options& options) {
  const Console console(options);
  int code = kDone;
  const auto plan = planned(options, console, code);
  if (!plan) return code;
  if (options.json)
    console.out(explain_json(*plan));
  else
    console.out(explain_text(*plan));
  console.report(plan->diagnostics);
  return code;
}

int check_command(const Options& options) {
  const Console console(options);
  int code = kDone;
  const auto plan = planned(options, console, code);
  if (!plan) return code;
  if (options.json) console.out(diagnostics_json(plan->diagnostics));
  console.report(plan->diagnostics);
  if (plan->diagnostics.empty()) console.note(options.model + ": no diagnostics");
  return code;
}

}  // namespace cleave::cli
