// The planner's entry point: plan() turns a Graph into a Plan, step by step. Its source, compile.cpp, has the steps as one table and reads
// as the table of contents of this folder.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "graph/passes/pass_table.h"
#include "partitioner/machine/costs.h"
#include "partitioner/plan.h"

namespace cleave {
class SharedConstants;
}

namespace cleave::planner {

/// Returns what a step of planning made, as text.
using StepText = std::function<std::string()>;

struct PlanOptions {
  CostModel costs;
  DiagnosticOptions diagnostics;
  bool simplify = true;   ///< false: no pass runs
  int channel_depth = 0;  ///< the depth of every channel; 0: planned for each channel
  PassOptions passes;     ///< `disabled` may also name the optional steps of planning
  /// Called after each step that ran and whose result can be printed; may be null.
  std::function<void(std::string_view step, const StepText& text)> after_step = {};
  FindPeak find_peak = nullptr;  ///< the executor's memory planner; null: as if no two values shared storage
  /// False: the plan is only compared by its predicted time, so the account and the diagnostics of a run are left out.
  bool accounts = true;
  std::shared_ptr<SharedConstants> constants = nullptr;  ///< arrays of the graph are shared with those of other graphs; null: they are not
  bool tries_workers = true;  ///< false: the account does not include the effect of more workers, which takes another plan to find
};

/// One step of planning, as the command line names it.
struct PlanStep {
  std::string_view name;
  std::string_view summary;  ///< description in one line
  bool optional = false;     ///< `--disable-pass` may leave it out
  bool printable = false;    ///< `--print-after` may show what it made
};
/// The steps in their order. They follow the passes.
std::span<const PlanStep> plan_steps();

/// Errors (usage) for `--disable-pass` and `--print-after`, if there is neither such a pass nor such a step; they suggest the nearest name.
Status check_disabled(std::string_view name);
Status check_printed(std::string_view name);

/// Makes all decisions. Errors are reported in the plan's diagnostics; a plan that is not complete() has no program.
Plan plan(const Graph& graph, const PlanOptions& options);

}  // namespace cleave::planner
