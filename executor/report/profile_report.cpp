#include "executor/report/profile_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "graph/base/number_text.h"
#include "graph/base/units.h"
#include "graph/graph.h"

namespace cleave::runtime {
namespace {

using What = TimelineEvent::What;
/// Node, what, device (of computations).
using Key = std::tuple<std::size_t, int, std::size_t>;

Key key_of(const TimelineEvent& event) {
  const bool compute = event.what == What::compute;
  return {event.node.index, compute ? 0 : 1, compute ? event.device.index : 0};
}

double predicted_for(const ProfileReportRow& row, const Graph& graph, const CostedProblem& costed, const Transfers& transfers) {
  if (!row.node.valid()) return 0;
  if (row.what == What::compute) {
    const PlacementProblem::Node& node = costed.problem.nodes[row.node.index];
    const double once = row.device == kHost ? node.host_seconds : node.accelerator_seconds;
    return once * costed.frequency[graph.nodes[row.node].region];
  }
  double seconds = 0;
  for (const Transfer& transfer : transfers.items)
    if (graph.values[transfer.value].producer == row.node) seconds += transfer.seconds;
  return seconds;
}

/// Sorted, and merged where they meet.
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

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

}  // namespace

ProfileReport profile_report(const Timeline& timeline, const Graph& graph, const CostedProblem& costed, const Transfers& transfers) {
  std::map<Key, ProfileReportRow> rows;
  Intervals work, moving;
  for (const TimelineEvent& event : timeline.events) {
    if (event.what == What::wait) continue;
    (event.what == What::transfer ? moving : work).emplace_back(event.start_seconds, event.end_seconds);
    ProfileReportRow& row = rows[key_of(event)];
    row.node = event.node;
    row.what = event.what;
    row.device = event.device;
    ++row.executions;
    row.seconds += event.end_seconds - event.start_seconds;
  }
  ProfileReport measured;
  for (auto& [key, row] : rows) {
    row.predicted_seconds = predicted_for(row, graph, costed, transfers);
    measured.rows.push_back(row);
  }
  moving = merged(std::move(moving));
  measured.transfer_seconds = length(moving);
  measured.hidden_seconds = length_of_overlap(moving, merged(std::move(work)));
  return measured;
}

std::string to_text(const ProfileReport& measured, const Graph& graph, std::size_t most) {
  std::vector<ProfileReportRow> rows = measured.rows;
  std::erase_if(rows, [](const ProfileReportRow& row) { return !row.node.valid(); });
  const auto weight = [](const ProfileReportRow& row) { return std::max(row.seconds, row.predicted_seconds); };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  const std::size_t all = rows.size();
  rows.resize(std::min(all, most));
  std::vector<std::array<std::string, 5>> lines{{"where", "what", "times", "predicted", "took"}};
  for (const ProfileReportRow& row : rows) {
    const std::string name = "`" + graph.display_name(row.node) + "`";
    const std::string what =
        row.what == What::transfer ? name + " moves" : name + (row.device == kHost ? " on the host" : " on the accelerator");
    lines.push_back({to_string(graph.nodes[row.node].location), what, std::to_string(row.executions), format_seconds(row.predicted_seconds),
                     format_seconds(row.seconds)});
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const auto& line : lines) {
    std::string shown = "  ";
    for (std::size_t i = 0; i < line.size(); ++i) shown += i + 1 < line.size() ? padded(line[i], widths[i] + 2) : line[i];
    text += shown + "\n";
  }
  if (all > rows.size()) text += "  and " + std::to_string(all - rows.size()) + " that took less\n";
  if (measured.transfer_seconds > 0) {
    const std::string share = fixed_text(100 * measured.hidden_seconds / measured.transfer_seconds, 0) + " %";
    text += "  transfers took " + format_seconds(measured.transfer_seconds) + ", " + share + " of it hidden behind work\n";
  }
  return text;
}

}  // namespace cleave::runtime
