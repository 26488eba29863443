#include "executor/report/profile_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "graph/graph.h"
#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::runtime {
namespace {

using What = TimelineEvent::What;
/// Node, kind of event, device (except for transfers, which belong to both devices).
using Key = std::tuple<std::size_t, int, std::size_t>;
using Rows = std::map<Key, ProfileReportRow>;

ProfileReportRow& row_of(Rows& rows, NodeId node, What what, DeviceId device) {
  const int order = what == What::compute ? 0 : what == What::transfer ? 1 : 2;
  ProfileReportRow& row = rows[{node.index, order, what == What::transfer ? 0 : device.index}];
  row.node = node;
  row.what = what;
  if (what != What::transfer) row.device = device;
  return row;
}

/// By node and device: the last operation of the kernel that contains the node.
using RunsWith = std::map<std::pair<NodeId, DeviceId>, NodeId>;

/// Adds the plan's predictions for a run.
RunsWith add_predicted(Rows& rows, const Program& program, const CostedProblem& costed, const Transfers& transfers) {
  const Graph& graph = *program.graph;
  RunsWith runs_with;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    const DeviceId device{d};
    const IdVector<NodeId, double> seconds = planner::step_seconds(program, device, costed);
    for (const Block& block : program.devices[device].blocks) {
      for (const Step& step : block.steps) {
        if (step.kind != StepKind::compute || graph.nodes[step.node].kind != NodeKind::operation || seconds[step.node] <= 0) continue;
        row_of(rows, step.node, What::compute, device).predicted_seconds =
            seconds[step.node] * costed.frequency[graph.nodes[step.node].region];
      }
    }
    for (const std::vector<NodeId>& kernel : planner::kernels_of_several(program, device)) {
      row_of(rows, kernel.back(), What::compute, device).members = kernel;
      for (const NodeId node : kernel) runs_with[{node, device}] = kernel.back();
    }
  }
  const IdVector<ChannelId, double> copies = channel_seconds(program, costed);
  for (std::size_t c = 0; c < copies.size(); ++c) {
    const Transfer& transfer = transfers.items[program.channels[ChannelId(c)].transfer];
    row_of(rows, graph.values[transfer.value].producer, What::transfer, {}).predicted_seconds += transfer.frequency * copies[ChannelId(c)];
  }
  return runs_with;
}

/// Merges nodes that were launched as one command, and have no times of their own, into one row, like fused nodes.
void join_launched(Rows& rows, RunsWith& runs_with, const Timeline& timeline) {
  std::set<const void*> known;
  for (const TimelineEvent& event : timeline.events) {
    if (!event.together || !known.insert(event.together.get()).second) continue;
    ProfileReportRow joined{event.node, What::compute, event.device, {}, 0, 0, 0};
    for (const NodeId node : *event.together) {
      const auto row = rows.extract({node.index, 0, event.device.index});
      const bool kernel = !row.empty() && !row.mapped().members.empty();
      const std::vector<NodeId> members = kernel ? row.mapped().members : std::vector<NodeId>{node};
      joined.members.insert(joined.members.end(), members.begin(), members.end());
      joined.predicted_seconds += row.empty() ? 0 : row.mapped().predicted_seconds;
    }
    for (const NodeId member : joined.members) runs_with[{member, event.device}] = event.node;
    rows[{event.node.index, 0, event.device.index}] = std::move(joined);
  }
}

std::string op_name(const Graph& graph, NodeId node) {
  const Node& of = graph.nodes[node];
  return of.op ? std::string(of.op->name) : of.kind == NodeKind::counter ? "counting trips" : graph.display_name(node);
}

void sum_up(ProfileReport& report, const Graph& graph) {
  std::map<std::string, Ledger> by_op;
  std::map<std::size_t, Ledger> by_side;  // keys are indices into the names below
  static constexpr std::array<const char*, 5> kSides = {"host", "accelerator", "transfers", "host waits", "accelerator waits"};
  for (const ProfileReportRow& row : report.rows) {
    if (!row.node.valid()) continue;
    const std::size_t device = std::min<std::size_t>(row.device.index, 1);
    Ledger& side = by_side[row.what == What::compute ? device : row.what == What::transfer ? 2 : 3 + device];
    Ledger* const op = row.what == What::compute ? &by_op[op_names(graph, row)] : nullptr;
    for (Ledger* const sum : {&side, op}) {
      if (!sum) continue;
      sum->seconds += row.seconds;
      sum->predicted_seconds += row.predicted_seconds;
    }
  }
  report.by_op.assign(by_op.begin(), by_op.end());
  const auto weight = [](const Ledger& of) { return std::max(of.seconds, of.predicted_seconds); };
  std::stable_sort(report.by_op.begin(), report.by_op.end(),
                   [&](const auto& a, const auto& b) { return weight(a.second) > weight(b.second); });
  for (const auto& [side, sum] : by_side) report.by_side.emplace_back(kSides[side], sum);
}

/// Sorted and disjoint: overlapping or adjacent intervals are merged.
using Intervals = std::vector<std::pair<double, double>>;
Intervals merged(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals result;
  for (const auto& [start, end] : intervals) {
    if (!result.empty() && start <= result.back().second)
      result.back().second = std::max(result.back().second, end);
    else
      result.emplace_back(start, end);
  }
  return result;
}

double length(const Intervals& intervals) {
  double sum = 0;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

double length_of_overlap(const Intervals& a, const Intervals& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    (a[i].second < b[j].second ? i : j) += 1;
  }
  return sum;
}

}  // namespace

std::string op_names(const Graph& graph, const ProfileReportRow& row) {
  constexpr std::size_t kMost = 4;
  if (row.members.empty()) return op_name(graph, row.node);
  std::string names = op_name(graph, row.members[0]);
  for (std::size_t i = 1; i < row.members.size(); ++i) {
    const bool left_out = row.members.size() > kMost && i + 2 < row.members.size() && i > 1;
    if (left_out && i > 2) continue;
    names += left_out ? " + ..." : " + " + op_name(graph, row.members[i]);
  }
  return row.members.size() > kMost ? names + " (" + std::to_string(row.members.size()) + ")" : names;
}

ProfileReport profile_report(const Timeline& timeline, const Program& program, const CostedProblem& costed, const Transfers& transfers) {
  Rows rows;
  RunsWith runs_with = add_predicted(rows, program, costed, transfers);
  join_launched(rows, runs_with, timeline);
  Intervals work, moving;
  for (const TimelineEvent& event : timeline.events) {
    if (event.what != What::wait) (event.what == What::transfer ? moving : work).emplace_back(event.start_seconds, event.end_seconds);
    const auto kernel = event.what == What::compute ? runs_with.find({event.node, event.device}) : runs_with.end();
    const NodeId node = kernel != runs_with.end() ? kernel->second : event.node;
    ProfileReportRow& row = row_of(rows, node, event.what, event.device);
    row.executions += node == event.node ? 1 : 0;
    row.seconds += event.end_seconds - event.start_seconds;
  }
  ProfileReport report;
  for (auto& [key, row] : rows) {
    if (row.what == What::compute && row.predicted_seconds == 0 && row.seconds == 0) continue;
    report.rows.push_back(std::move(row));
  }
  sum_up(report, *program.graph);
  moving = merged(std::move(moving));
  report.transfer_seconds = length(moving);
  report.hidden_seconds = length_of_overlap(moving, merged(std::move(work)));
  return report;
}

}  // namespace cleave::runtime
