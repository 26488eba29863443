// ProfileReport: measured beside predicted times of a run, by kernel, transfer and wait, with sums by op and by side, and the fraction of
// the transfer time that overlapped with work. Made from a Timeline; knows no device.
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

/// One row for all executions of one operation on one device, all transfers of one node's results, or all waits for one node, in one run.
struct ProfileReportRow {
  NodeId node;  ///< none: the run itself
  TimelineEvent::What what = TimelineEvent::What::compute;
  DeviceId device;  ///< of computing and waiting
  std::vector<NodeId>
      members;  ///< the nodes fused into one kernel or launched as one command, `node` the last of them; empty: `node` by itself
  std::int64_t executions = 0;
  double seconds = 0;
  double predicted_seconds = 0;  ///< a single wait has no prediction
};

struct ProfileReport {
  /// In program order; of each node host, accelerator, transfers, waits. Includes rows that were predicted and never ran.
  std::vector<ProfileReportRow> rows;
  std::vector<std::pair<std::string, Ledger>> by_op;    ///< computing only; fused nodes under all of their names; longest first
  std::vector<std::pair<std::string, Ledger>> by_side;  ///< host, accelerator, transfers; then the waits of either side
  double transfer_seconds = 0;                          ///< time during which any transfer was under way, in either direction
  double hidden_seconds = 0;                            ///< the part of these during which host or accelerator worked
};

ProfileReport profile_report(const Timeline& timeline, const Program& program, const CostedProblem& costed, const Transfers& transfers);

/// The names of a row's ops: "matmul", or of fused ones all, with the middle of a long list left out: "matmul + add".
std::string op_names(const Graph& graph, const ProfileReportRow& row);

/// The subject of a row: "`y` on the host", "`x` moves".
std::string row_phrase(const Graph& graph, const ProfileReportRow& row);

/// A table of the `most` rows with the longest measured or predicted times, slowest first, with the sum of the rest; then the sums by op
/// and side, and the overlapped fraction.
std::string to_text(const ProfileReport& measured, const Graph& graph, std::size_t most = 20);
/// Writes the whole report: {rows, by_op, by_side, transfer_seconds, hidden_seconds}.
void write_json(JsonWriter& json, const ProfileReport& measured, const Graph& graph);

}  // namespace cleave::runtime
