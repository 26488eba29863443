// `cleave check`: reports the diagnostics, compared with a lock of the plan or with those of an earlier check.
#include "graph/base/diagnostic_baseline.h"
#include "graph/base/diagnostic_json.h"
#include "graph/base/file.h"
#include "graph/base/output_file.h"
#include "graph/base/units.h"
#include "partitioner/advice/certificate.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/questions/lock.h"
#include "tools/cli/session.h"
#include "tools/cli/sizes.h"

namespace cleave::cli {
namespace {

/// Writes the lock, or adds the differences from it to the plan's diagnostics.
Status compare_with_lock(const Options& options, const Console& console, Plan& plan) {
  if (options.update_lock) {
    const Status written = write_file(options.lock, {lock_text(plan)});
    if (written) console.note("the plan is locked in " + options.lock);
    return written;
  }
  const Result<std::string> text = read_file(options.lock);
  if (!text) return Error{text.error().message + "; `--update-lock` writes it", text.error().location, text.error().kind};
  const Result<Diagnostics> differences = differences_from_lock(plan, *text, options.lock);
  if (!differences) return differences.error();
  plan.diagnostics.append(*differences);
  if (differences->empty()) console.note(options.model + ": the plan is that of " + options.lock);
  return {};
}

/// Solves the plan's problem with both solvers; if their costs differ, that is an error of the plan.
Status certify_plan(const Console& console, const std::string& model, Plan& plan) {
  const Result<planner::Certificate> certificate = planner::certify(plan);
  if (!certificate) return certificate.error();
  const std::string own = format_seconds(certificate->own_seconds), boost = format_seconds(certificate->boost_seconds);
  if (certificate->agree())
    console.note(model + ": both solvers find a least cost of " + own + " a run");
  else
    plan.diagnostics.error(DiagnosticKind::placement, {},
                           "the solvers disagree: cleave's own finds a cost of " + own + " a run, and Boost.Graph's " + boost +
                               "; this is a bug of cleave, please report it");
  return {};
}

std::string json_text(const Plan& plan, const StatementOf& statement_of) {
  return diagnostics_json(
      plan.diagnostics, statement_of,
      [&](JsonWriter& json) {
        json.key("account");
        write_account(json, plan);
      },
      plan.fixes);
}

int report_new(const Options& options, const Console& console, const Plan& plan, const StatementOf& statement_of) {
  const Result<std::string> text = read_file(options.baseline);
  if (!text) return console.fail(text.error());
  const Result<std::set<std::string>> baseline = read_baseline(*text, options.baseline);
  if (!baseline) return console.fail(baseline.error());
  const SinceBaseline since = since_baseline(plan.diagnostics, statement_of, *baseline);
  if (options.json) console.document(json_text(plan, statement_of));
  console.report(since.fresh, plan.fixes);
  console.note(options.model + ": " + std::to_string(since.fresh.size()) + " new, " + std::to_string(since.known) + " known, " +
               std::to_string(since.gone) + " gone since " + options.baseline);
  console.account(plan);
  return since.fresh.empty() ? kDone : exit_code(since.fresh);
}

}  // namespace

int check_command(const Options& options) {
  if (options.dim_range && !is_plan_path(options.model)) return plan_sizes(options);
  const Console console(options);
  if (options.update_lock) {
    if (Status writable = check_writable(options.lock); !writable) return console.fail(writable.error());
  }
  if (!options.compiled_from.empty() && !is_plan_path(options.model))
    return console.fail(Error{"--compiled-from: `" + options.model + "` is no compiled plan", {}, ErrorKind::usage});
  int code = kDone;
  auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (!options.lock.empty() && plan->complete()) {
    if (Status compared = compare_with_lock(options, console, *plan); !compared) return console.fail(compared.error());
    if (!plan->ok()) code = exit_code(plan->diagnostics);
  }
  if (options.certify && plan->complete()) {
    if (Status certified = certify_plan(console, options.model, *plan); !certified) return console.fail(certified.error());
    if (!plan->ok()) code = exit_code(plan->diagnostics);
  }
  const StatementOf statement_of = console.statements_of(*plan);
  if (!options.baseline.empty()) return report_new(options, console, *plan, statement_of);
  if (options.json) console.document(json_text(*plan, statement_of));
  console.report(*plan);
  if (plan->diagnostics.empty() && options.lock.empty()) console.note(options.model + ": no diagnostics");
  if (!plan->complete()) return code;
  if (const std::string remark = faster_remark(*plan); !remark.empty()) console.note("remark: " + remark);
  console.account(*plan);
  return code;
}

}  // namespace cleave::cli
