// `cleave explain`: prints the plan as text, JSON or a page, or answers one question about it.
#include "partitioner/report/explain.h"

#include "graph/base/file.h"
#include "partitioner/report/questions/kernel_advice_text.h"
#include "partitioner/report/questions/node_report.h"
#include "partitioner/report/questions/plan_diff.h"
#include "partitioner/report/questions/sensitivity_report.h"
#include "tools/cli/onnxruntime_report.h"
#include "tools/cli/page.h"
#include "tools/cli/session.h"
#include "tools/cli/sizes.h"

namespace cleave::cli {

namespace {

/// The answer as text or JSON; nothing if no question was asked.
std::optional<Result<std::string>> answer_question(const Options& options, const Plan& plan) {
  const auto told = [&](const auto& report, auto... more) {
    if (!report) return Result<std::string>(report.error());
    return Result<std::string>(options.json ? to_json(*report, plan, more...) : to_text(*report, plan, more...));
  };
  if (!options.node.empty()) {
    const Result<std::vector<NodeId>> nodes = find_nodes(plan, options.node);
    if (!nodes) return nodes.error();
    return options.json ? node_json(plan, *nodes) : node_text(plan, *nodes);
  }
  if (options.device == "none" && (options.advise || options.sensitivity))
    return Error{"`--device none` leaves no accelerator to ask about", {}, ErrorKind::usage};
  if (options.advise) {
    if (is_plan_path(options.model)) return Error{"--advise: this needs the model, not its plan", {}, ErrorKind::usage};
    const Result<Wiring> wiring = wire(options);
    if (!wiring) return wiring.error();
    return told(Result(advise_kernels(plan, wiring->plan.costs)), static_cast<std::size_t>(*options.advise));
  }
  if (options.sensitivity) return told(find_machine_ranges(plan));
  if (options.diff.empty()) return std::nullopt;
  const Result<std::string> text = read_file(options.diff);
  if (!text) return text.error();
  return told(diff_with(plan, *text, options.diff));
}

}  // namespace

int explain_command(const Options& options) {
  if (options.dim_range && !is_plan_path(options.model)) return plan_sizes(options);
  const Console console(options);
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  int code = kDone;
  const auto plan = load_and_plan(options, console, code);
  if (!plan) return code;
  if (const std::optional<Result<std::string>> answer = plan->complete() ? answer_question(options, *plan) : std::nullopt) {
    if (!*answer) return console.fail(answer->error());
    options.json ? console.document(**answer) : console.out(**answer);
    return code;
  }
  if (!options.html_file.empty()) {
    if (Status written = write_page(*plan, options); !written) return console.fail(written.error());
  }
  std::optional<OnnxRuntimeReport> onnxruntime;
  if (options.onnxruntime && plan->complete()) {
    Result<OnnxRuntimeReport> compared = compare_with_onnxruntime(options, *plan);
    if (!compared) return console.fail(compared.error());
    onnxruntime = *std::move(compared);
  }
  if (options.json)
    console.document(
        explain_json(*plan, onnxruntime ? [&](JsonWriter& json) { write_json(json, *onnxruntime); } : std::function<void(JsonWriter&)>()));
  else if (options.html_file.empty())
    console.out(explain_text(*plan, most_rows(options)) + (onnxruntime ? to_text(*onnxruntime, most_rows(options)) : ""));
  console.report(*plan);
  console.account(*plan);
  return code;
}

}  // namespace cleave::cli
