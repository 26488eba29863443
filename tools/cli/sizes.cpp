// `explain` and `check` with a range of sizes, `--dim batch=1..32`: plans for several sizes, and says where the plan changes.
#include "tools/cli/sizes.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "graph/base/units.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/questions/plan_diff.h"
#include "partitioner/report/table.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kNamesShown = 4;

/// The first size, its doubles below the last size, and that one.
std::vector<std::int64_t> sizes_between(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> sizes{first};
  while (sizes.back() < last) sizes.push_back(sizes.back() > last / 2 ? last : std::max<std::int64_t>(2 * sizes.back(), 1));
  return sizes;
}

std::vector<std::string> row(const std::string& size, const Plan& plan) {
  std::size_t warnings = 0, on_accelerator = 0, operations = 0;
  for (const Diagnostic& each : plan.diagnostics)
    warnings += each.severity == Severity::warning || each.severity == Severity::error ? 1 : 0;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    if (plan.graph->nodes[NodeId(i)].kind != NodeKind::operation) continue;
    ++operations;
    on_accelerator += plan.placement.has_copy(i, kHost) ? 0 : 1;
  }
  return {size,
          format_seconds(plan.predicted_seconds),
          std::to_string(plan.transfers.items.size()),
          std::to_string(plan.round_trips.size()),
          std::to_string(on_accelerator) + " of " + std::to_string(operations),
          std::to_string(warnings)};
}

/// "3 operations move to the accelerator: `conv`, …; 2 transfers more"; empty: nothing changes.
std::string changes(const PlanDiff& diff, const Plan& plan) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const auto moved = [&](bool to_host) {
    std::string names;
    std::size_t count = 0;
    for (const PlanDiff::Moved& each : diff.moved) {
      if ((each.is == "host") != to_host || count++ >= kNamesShown) continue;
      names += (names.empty() ? "`" : ", `") + plan.graph->display_name(each.node) + "`";
    }
    if (count == 0) return;
    if (count > kNamesShown) names += ", …";
    add(std::to_string(count) + (count == 1 ? " operation moves" : " operations move") +
        (to_host ? " to the host: " : " to the accelerator: ") + names);
  };
  moved(false);
  moved(true);
  const auto counted = [&](std::size_t count, const std::string& what, const std::string& happened) {
    if (count > 0) add(std::to_string(count) + " " + what + (count == 1 ? "" : "s") + " " + happened);
  };
  counted(diff.fresh.size(), "operation", "more");
  counted(diff.gone.size(), "operation", "fewer");
  counted(diff.gained.size(), "transfer", "more");
  counted(diff.lost.size(), "transfer", "fewer");
  return text;
}

}  // namespace

int plan_sizes(const Options& options) {
  const Console console(options);
  for (const auto& [flag, given] :
       {std::pair("--json", options.json), std::pair("--html", !options.html_file.empty()), std::pair("--node", !options.node.empty()),
        std::pair("--diff", !options.diff.empty()), std::pair("--advise", options.advise.has_value()),
        std::pair("--sensitivity", options.sensitivity), std::pair("--lock", !options.lock.empty()),
        std::pair("--baseline", !options.baseline.empty()), std::pair("--certify", options.certify),
        std::pair("--diagnostics sarif", options.diagnostics_format != "text")})
    if (given)
      return console.fail(
          {std::string("`") + flag + "` takes one size, and `--dim " + options.dim_range->first + "` gives several", {}, ErrorKind::usage});
  const auto& [name, range] = *options.dim_range;
  Table table;
  table.add(0, {name, "predicted", "transfers", "round trips", "on the accelerator", "warnings"});
  std::string changed, before, last_size;
  int code = kDone;
  for (const std::int64_t size : sizes_between(range.first, range.second)) {
    Options one = options;
    one.dims[name] = size;
    const std::string title = name + "=" + std::to_string(size);
    int this_code = kDone;
    const std::optional<Plan> plan = load_and_plan(one, console, this_code);
    if (!plan) {
      console.note("this is for " + title);
      return this_code;
    }
    code = std::max(code, this_code);
    if (!plan->complete()) return console.fail(plan->diagnostics);
    table.add(plan->predicted_seconds, row(std::to_string(size), *plan));
    if (!before.empty()) {
      const Result<PlanDiff> diff = diff_with(*plan, before, last_size);
      if (!diff) return console.fail(diff.error());
      if (const std::string what = changes(*diff, *plan); !what.empty())
        changed += "from " + last_size + " to " + title + ": " + what + "\n";
    }
    before = explain_json(*plan, {});
    last_size = title;
  }
  console.out(table.text(std::numeric_limits<std::size_t>::max()) + "\n" +
              (changed.empty() ? "the plan is the same for all these sizes\n" : changed));
  return code;
}

}  // namespace cleave::cli
