// `cleave compile`: plans a model and writes the plan as a file, which `run`, `explain`, `check` and `dot` take in place of the model.
#include <filesystem>

#include "executor/api/saved_plan.h"
#include "graph/base/units.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"
#include "tools/cli/values.h"

namespace cleave::cli {

int compile_command(const Options& options) {
  const Console console(options);
  if (!is_plan_path(options.output_file))
    return console.fail(Error{options.output_file.empty() ? "`cleave compile` needs the file to write: -o FILE.plan"
                                                          : "-o " + options.output_file + ": expected a file that ends in .plan",
                              {},
                              ErrorKind::usage});
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  const Graph graph = load_graph(options);
  if (!graph.ok()) return console.fail(graph.diagnostics);
  if (const auto inputs = read_inputs(graph, options); !inputs) return console.fail(inputs.error());
  const Result<PlanSettings> settings = plan_settings(options);
  if (!settings) return console.fail(settings.error());
  const auto plan = make_plan(graph, options);
  if (!plan) return console.fail(plan.error());
  if (!plan->ok()) return console.fail(plan->diagnostics);
  console.report(*plan);
  if (Status saved = save_plan(options.output_file, *plan, *settings, static_cast<int>(options.threads), &graph); !saved)
    return console.fail(saved.error());
  if (options.json) console.document("file", options.output_file, plan->diagnostics);
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.output_file, ignored);
  console.note(options.output_file + ": " + format_bytes(ignored ? 0 : static_cast<double>(bytes)) + "; " + summary_line(*plan));
  console.account(*plan);
  return kDone;
}

}  // namespace cleave::cli
