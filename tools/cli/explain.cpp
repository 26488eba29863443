// `cleave explain` and `cleave check`: the plan in words or as a page, and the diagnostics alone.
#include "partitioner/report/explain.h"

#include "graph/base/diagnostic_json.h"
#include "tools/cli/page.h"
#include "tools/cli/session.h"

namespace cleave::cli {

int explain_command(const Options& options) {
  const Console console(options);
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (!options.html_file.empty()) {
    if (Status written = write_page(*plan, options); !written) return console.fail(written.error());
  }
  if (options.json)
    console.document(explain_json(*plan));
  else if (options.html_file.empty())
    console.out(explain_text(*plan, most_rows(options)));
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
