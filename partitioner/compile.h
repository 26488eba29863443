// The planner as one call: Graph -> Plan. Its source reads as the table of contents of this folder.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/fix.h"
#include "graph/graph.h"
#include "graph/passes/pass_table.h"
#include "partitioner/apply/account.h"
#include "partitioner/apply/channel_depths.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/round_trips.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/policy.h"
#include "partitioner/solver/placement.h"

namespace cleave {

/// Everything that was decided about one graph, as values.
struct Plan {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::shared_ptr<const Graph> graph;  ///< simplified, with the profile applied
  Machine machine;
  Policy policy = Policy::optimal;
  Precision precision = Precision::f32;  ///< of the accelerator's matrix products of f32
  Profile profile;                       ///< what earlier runs observed
  planner::CostedProblem costed;
  planner::Placement placement;
  planner::Transfers transfers;
  std::vector<planner::TransferTime> transfer_times;  ///< by the schedule, as `transfers`
  std::vector<planner::RoundTrip> round_trips;
  planner::Account account;    ///< what the time of a run goes to
  Diagnostics diagnostics;     ///< of tracing and planning; with errors the rest is incomplete
  std::vector<Advice> advice;  ///< what of the diagnostics is an edit of the program
  std::vector<Fix> fixes;      ///< that advice as edits of a model's text, where somebody knows it (models/fixes.h)
  planner::Program program;
  double predicted_seconds = 0;
  double predicted_wait_seconds = 0;                         ///< of these, the accelerator waits for a value or a decision of the host
  double all_host_seconds = 0, all_accelerator_seconds = 0;  ///< of --placement host, which leaves pins aside, and accelerator
  bool all_accelerator_in_part = false;                      ///< under --placement accelerator something stays on the host alone
  /// How long these two are predicted to take; not a number where they cannot be had.
  double all_host_predicted_seconds = kUnknown, all_accelerator_predicted_seconds = kUnknown;
  std::optional<planner::MemoryShortage> memory_shortage;  ///< if part of the program left the accelerator for want of memory
  planner::ChannelDepths depths;                           ///< what the depths of the program's channels go by
  planner::FindPeak find_peak = nullptr;                   ///< who lays memory out, for reports; null: as if no two values shared storage
  std::vector<StepTime> times;                             ///< wall-clock time of each pass and of each step of planning, in order

  [[nodiscard]] bool ok() const { return !diagnostics.has_errors(); }
  /// There is a program, though maybe one that exceeds a limit.
  [[nodiscard]] bool complete() const { return !program.devices.empty(); }
};

namespace planner {

struct PlanOptions {
  CostModel costs;
  DiagnosticOptions diagnostics;
  int workers = 1;        ///< threads that call host functions beside the host's steps (HostFunction::beside); 1: none
  bool simplify = true;   ///< false: no pass runs
  int channel_depth = 0;  ///< of every channel; 0: each as it is planned
  PassOptions passes;
  FindPeak find_peak = nullptr;  ///< null: as if no two values shared storage
  bool accounts = true;          ///< false: what is planned is only compared by its prediction; no account, and no diagnostics of a run
  bool tries_workers = true;     ///< false: the account does not say what more workers would be worth, which needs another plan
};

/// Decides everything. What is wrong is in the plan's diagnostics; a plan that is not complete() has no program.
Plan plan(const Graph& graph, const PlanOptions& options);

}  // namespace planner

}  // namespace cleave
