// `cleave explain` and `cleave check`: the plan in words, and the diagnostics alone.
#include "partitioner/report/explain.h"

#include "graph/base/diagnostic_json.h"
#include "tools/cli/session.h"

namespace cleave::cli {

int explain_command(const Options& options) {
  const Console console(options);
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (options.json)
    console.document(explain_json(*plan));
  else
    console.out(explain_text(*plan));
  console.report(*plan);
  return code;
}

int check_command(const Options& options) {
  const Console console(options);
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (options.json) console.document(diagnostics_json(plan->diagnostics));
  console.report(*plan);
  if (plan->diagnostics.empty()) console.note(options.model + ": no diagnostics");
  return code;
}

}  // namespace cleave::cli
