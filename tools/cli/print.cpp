// `cleave print`: the program as text at a stage of compilation.
#include "graph/passes/pass_table.h"
#include "graph/text/text.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"

namespace cleave::cli {

int print_command(const Options& options) {
  const Console console(options);
  const Graph graph = load_graph(options);
  if (!graph.ok()) return console.fail(graph.diagnostics);
  if (options.stage == "traced") return console.out(print(graph)), kDone;
  if (options.stage == "simplified") {
    const Result<Wiring> wiring = wire(options);
    if (!wiring) return console.fail(wiring.error());
    return console.out(print(run_passes(graph, wiring->plan.passes))), kDone;
  }
  const auto plan = make_plan(graph, options);
  if (!plan) return console.fail(plan.error());
  if (plan->program.graph == nullptr) return console.fail(plan->diagnostics);
  console.out(options.stage == "placed" ? placed_text(*plan) : print(plan->program));
  return kDone;
}

}  // namespace cleave::cli
