// `cleave print`: prints the program as text at a stage of compilation.
#include "graph/base/file.h"
#include "graph/gradient/differentiate.h"
#include "graph/passes/pass_table.h"
#include "graph/text/text.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"
#include "tools/cli/values.h"

namespace cleave::cli {

int print_command(const Options& options) {
  const Console console(options);
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  const auto say = [&](const std::string& text, const Diagnostics& diagnostics) {
    if (options.json) {
      console.document("text", text, diagnostics);
    } else if (options.output_file.empty()) {
      console.out(text);
    } else if (Status written = write_file(options.output_file, {text}); !written) {
      return console.fail(written.error());
    }
    return kDone;
  };
  // A saved graph refers to its data and libraries relative to its own folder.
  const auto say_graph = [&](const Graph& graph, const Diagnostics& diagnostics) {
    if (options.json || options.output_file.empty()) return say(print(graph), diagnostics);
    const Status saved = graph.save(options.output_file);
    return saved ? kDone : console.fail(saved.error());
  };
  if (is_plan_path(options.model) && options.stage != "placed" && options.stage != "partitioned") {
    if (options.stage != "simplified")
      return console.fail(Error{"--stage " + options.stage + ": a compiled plan has the simplified program only", {}, ErrorKind::usage});
    const auto saved = read_plan(options, false);
    return saved ? say_graph(*saved->plan.graph, saved->plan.diagnostics) : console.fail(saved.error());
  }
  if (options.stage == "traced" || options.stage == "differentiated" || options.stage == "simplified") {
    const Graph graph = load_graph(options);
    if (!graph.ok()) return console.fail(graph.diagnostics);
    if (const auto inputs = read_inputs(graph, options); !inputs) return console.fail(inputs.error());
    if (options.stage == "traced") return say_graph(graph, graph.diagnostics);
    const Result<Wiring> wiring = wire(options);
    if (!wiring) return console.fail(wiring.error());
    const Graph differentiated = differentiate(graph);
    if (!differentiated.ok()) return console.fail(differentiated.diagnostics);
    return say_graph(options.stage == "differentiated" ? differentiated : run_passes(differentiated, wiring->plan.passes),
                     differentiated.diagnostics);
  }
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (plan->program.graph == nullptr) return console.fail(plan->diagnostics);
  return say(options.stage == "placed" ? planner::placed_text(*plan->graph, plan->placement) : print(plan->program), plan->diagnostics);
}

}  // namespace cleave::cli
