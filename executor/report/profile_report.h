// The ledger of a run: what it really took beside what the plan predicted, kernel by kernel, transfer by transfer and wait by wait, in sums
// by op and by side, and how much of the transfers' time was hidden behind work. From a Timeline; knows no device.
#pragma once

#include <string>
#include <vector>

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/base/json_writer.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::runtime {

/// Seconds of one run.
struct Ledger {
  double predicted_seconds = 0, seconds = 0;
};

/// All executions of one operation on one device, all transfers of one node's results, or all waiting for one, in one run.
struct ProfileReportRow {
  NodeId node;  ///< none: the run itself
  TimelineEvent::What what = TimelineEvent::What::compute;
  DeviceId device;              ///< of computing and waiting
  std::vector<NodeId> members;  ///< what runs as one kernel or is launched as one, `node` the last of them; none: an operation by itself
  std::int64_t executions = 0;
  double seconds = 0;
  double predicted_seconds = 0;  ///< nothing is predicted for a single wait
};

struct ProfileReport {
  /// In program order, of each node host, accelerator, transfers, waits. Also what was predicted and never ran.
  std::vector<ProfileReportRow> rows;
  std::vector<std::pair<std::string, Ledger>> by_op;    ///< computing only; what ran as one kernel under all of its names; longest first
  std::vector<std::pair<std::string, Ledger>> by_side;  ///< host, accelerator, transfers; then what either side waited
  double transfer_seconds = 0;                          ///< in which something was on its way, either direction
  double hidden_seconds = 0;                            ///< of these, with host or accelerator at work
};

ProfileReport profile_report(const Timeline& timeline, const Program& program, const CostedProblem& costed, const Transfers& transfers);

/// "matmul", or of what ran as one kernel all of them, the middle of many left out: "matmul + add".
std::string op_names(const Graph& graph, const ProfileReportRow& row);

/// What a row is about: "`y` on the host", "`x` moves".
std::string row_phrase(const Graph& graph, const ProfileReportRow& row);

/// A table of the `most` rows that took, or should have taken, longest, slowest first, with the sum of the rest; the sums; and the hidden
/// share.
std::string to_text(const ProfileReport& measured, const Graph& graph, std::size_t most = 20);
/// Everything: {rows, by_op, by_side, transfer_seconds, hidden_seconds}.
void write_json(JsonWriter& json, const ProfileReport& measured, const Graph& graph);

}  // namespace cleave::runtime
