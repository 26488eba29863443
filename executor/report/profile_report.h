// What a run really took beside what the plan predicted, node by node and transfer by transfer, and how much of the transfers' time was
// hidden behind work. From a Timeline; knows no device.
#pragma once

#include <string>
#include <vector>

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::runtime {

/// All executions of one operation on one device, or all transfers of one node's results, in one run.
struct ProfileReportRow {
  NodeId node;  ///< none: the run itself
  TimelineEvent::What what = TimelineEvent::What::compute;
  DeviceId device;  ///< compute only
  std::int64_t executions = 0;
  double seconds = 0;
  double predicted_seconds = 0;  ///< for a whole run
};

struct ProfileReport {
  std::vector<ProfileReportRow> rows;  ///< by node, then host, accelerator, transfers
  double transfer_seconds = 0;         ///< in which something was on its way, either direction
  double hidden_seconds = 0;           ///< of these, with host or accelerator at work
};

ProfileReport profile_report(const Timeline& timeline, const Graph& graph, const CostedProblem& costed, const Transfers& transfers);

/// A table of the `most` rows that took, or should have taken, longest, slowest first; and the hidden share.
std::string to_text(const ProfileReport& measured, const Graph& graph, std::size_t most = 20);

}  // namespace cleave::runtime
