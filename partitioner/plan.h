// Plan: all decisions made about one graph, as plain values. plan() (compile.h) makes it; advice/ and report/ read it.
#pragma once

#include <limits>
#include <memory>
#include <optional>
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
#include "partitioner/apply/saved_memory.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/policy.h"
#include "partitioner/solver/placement.h"

namespace cleave {

/// All decisions made about one graph, as plain values.
struct Plan {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::shared_ptr<const Graph> graph;  ///< the graph after simplification, with the profile applied
  Machine machine;
  Policy policy = Policy::optimal;
  Precision precision = Precision::f32;  ///< the precision of the accelerator's f32 matrix products
  Profile profile;                       ///< observations of earlier runs
  planner::CostedProblem costed;
  planner::Placement placement;
  planner::Transfers transfers;
  std::vector<planner::TransferTime> transfer_times;  ///< one entry for each item of `transfers`, taken from the schedule
  std::vector<planner::RoundTrip> round_trips;
  planner::Account account;    ///< how the time of a run is spent
  Diagnostics diagnostics;     ///< diagnostics of tracing and planning; if there are errors, the rest is incomplete
  std::vector<Advice> advice;  ///< the diagnostics that can be resolved by an edit of the program
  std::vector<Fix> fixes;      ///< `advice` as edits of the model's text; filled in by callers that know the text (models/fixes.h)
  planner::Program program;
  std::vector<planner::ProducedData> data;  ///< the predicted times of data that are made ahead, by producer of the program
  double predicted_seconds = 0;
  /// The part of `predicted_seconds` in which the accelerator waits for a value or a decision of the host.
  double predicted_wait_seconds = 0;
  /// The costs of a run under `--placement host`, which ignores pins, and under `--placement accelerator`.
  double all_host_seconds = 0, all_accelerator_seconds = 0;
  bool all_accelerator_in_part = false;  ///< under `--placement accelerator` some operations have no copy on the accelerator
  /// The predicted times of a run under these two placements; NaN where there is no such plan.
  double all_host_predicted_seconds = kUnknown, all_accelerator_predicted_seconds = kUnknown;
  std::optional<planner::MemoryShortage> memory_shortage;  ///< set if the plan with enough memory does not fit
  std::optional<planner::SavedMemory> saved;               ///< set if values are computed again or kept on the host for that
  planner::ChannelDepths depths;                           ///< the inputs to and results of planning the channels' depths
  /// The executor's memory planner, for reports; null: peaks are computed as if no two values shared storage.
  planner::FindPeak find_peak = nullptr;
  std::vector<StepTime> times;  ///< wall-clock time of each pass and of each step of planning, in order

  [[nodiscard]] bool ok() const { return !diagnostics.has_errors(); }
  /// True if there is a program, even one that exceeds a limit.
  [[nodiscard]] bool complete() const { return !program.devices.empty(); }
};

}  // namespace cleave
