// `cleave print`: the program as text at a stage of compilation.
#include "graph/passes/pass_table.h"
#include "graph/text/text.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"
#include "tools/cli/values.h"

namespace cleave::cli {

int print_command(const Options& options) {
  const Console console(options);
  const auto say = [&](const std::string& text, const Diagnostics& diagnostics) {
    if (options.json)
      console.document("text", text, diagnostics);
    else
      console.out(text);
    return kDone;
  };
  if (options.stage == "traced" || options.stage == "simplified") {
    const Graph graph = load_graph(options);
    if (!graph.ok()) return console.fail(graph.diagnostics);
    if (const auto inputs = read_inputs(graph, options); !inputs) return console.fail(inputs.error());
    if (options.stage == "traced") return say(print(graph), graph.diagnostics);
    const Result<Wiring> wiring = wire(options);
    if (!wiring) return console.fail(wiring.error());
    return say(print(run_passes(graph, wiring->plan.passes)), graph.diagnostics);
  }
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (plan->program.graph == nullptr) return console.fail(plan->diagnostics);
  return say(options.stage == "placed" ? placed_text(*plan) : print(plan->program), plan->diagnostics);
}

}  // namespace cleave::cli
