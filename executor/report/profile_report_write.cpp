// ProfileReport, part: its output as text and as JSON.
#include <algorithm>
#include <array>

#include "executor/report/profile_report.h"
#include "graph/base/diagnostic_json.h"
#include "graph/base/number_text.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/graph.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kUsualRows = 20, kUsualSums = 8;

using What = TimelineEvent::What;

using Line = std::array<std::string, 6>;

/// Aligned text; columns without any content are left out.
std::string table(std::vector<Line> lines) {
  for (Line& line : lines)
    for (std::string& cell : line) cell = escape_controls_one_line(cell);
  std::array<std::size_t, 6> widths{};
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const Line& line : lines) {
    std::string shown = " ";
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (widths[i] == 0) continue;
      shown += " " + line[i] + std::string(widths[i] - line[i].size() + 1, ' ');
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

std::string ratio_text(const Ledger& of) {
  return of.seconds > 0 && of.predicted_seconds > 0 ? fixed_text(of.predicted_seconds / of.seconds, 2) : "";
}

std::string predicted_text(double seconds) {
  return seconds > 0 ? format_seconds(seconds) : "-";
}

/// The user's names of all nodes that ran as one; the middle of a long list is left out.
std::string names_of(const ProfileReportRow& row, const Graph& graph) {
  constexpr std::size_t kMost = 4;
  const auto name = [&](NodeId node) { return "`" + graph.display_name(node) + "`"; };
  if (row.members.empty()) return name(row.node);
  const std::size_t count = row.members.size(), first = count > kMost ? 2 : count - 1;
  std::string names = name(row.members[0]);
  for (std::size_t i = 1; i < first; ++i) names += ", " + name(row.members[i]);
  if (count > kMost) names += ", …";
  return names + " and " + name(row.members.back()) + (count > kMost ? " (" + std::to_string(count) + ")" : "") + " as one";
}

Line line_of(const ProfileReportRow& row, const Graph& graph) {
  const Ledger sums{row.predicted_seconds, row.seconds};
  return {to_string(graph.nodes[row.node].location), row_phrase(graph, row),      std::to_string(row.executions),
          predicted_text(row.predicted_seconds),     format_seconds(row.seconds), ratio_text(sums)};
}

std::vector<Line> lines_of(const std::vector<std::pair<std::string, Ledger>>& sums, std::size_t most) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < std::min(sums.size(), most); ++i) {
    const auto& [name, sum] = sums[i];
    lines.push_back({name, "", "", predicted_text(sum.predicted_seconds), format_seconds(sum.seconds), ratio_text(sum)});
  }
  return lines;
}

}  // namespace

std::string row_phrase(const Graph& graph, const ProfileReportRow& row) {
  const std::string name = "`" + graph.display_name(row.node) + "`", device = row.device == kHost ? "host" : "accelerator";
  switch (row.what) {
    case What::compute: break;
    case What::transfer: return name + " moves";
    case What::wait: return "the " + device + " waits for " + name;
  }
  return names_of(row, graph) + " on the " + device;
}

std::string to_text(const ProfileReport& measured, const Graph& graph, std::size_t most) {
  std::vector<ProfileReportRow> rows = measured.rows;
  std::erase_if(rows, [](const ProfileReportRow& row) { return !row.node.valid(); });
  const auto weight = [](const ProfileReportRow& row) { return std::max(row.seconds, row.predicted_seconds); };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  std::vector<Line> lines{{"where", "what", "times", "predicted", "took", "ratio"}};
  Ledger rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < most) {
      lines.push_back(line_of(rows[i], graph));
      continue;
    }
    rest.seconds += rows[i].seconds;
    rest.predicted_seconds += rows[i].predicted_seconds;
  }
  std::string text = table(lines);
  if (rows.size() > most)
    text += "  and " + std::to_string(rows.size() - most) + " more: predicted " + predicted_text(rest.predicted_seconds) + ", took " +
            format_seconds(rest.seconds) + " in sum (--all shows them)\n";
  const std::size_t most_sums = most > kUsualRows ? most : kUsualSums;
  lines.assign(1, {"in sum", "", "", "predicted", "took", "ratio"});
  for (const auto* sums : {&measured.by_side, &measured.by_op}) {
    const std::vector<Line> more = lines_of(*sums, most_sums);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  text += table(lines);
  if (measured.transfer_seconds > 0) {
    const std::string share = fixed_text(100 * measured.hidden_seconds / measured.transfer_seconds, 0) + " %";
    text += "  transfers took " + format_seconds(measured.transfer_seconds) + ", " + share + " of it hidden behind work\n";
  }
  return text;
}

void write_json(JsonWriter& json, const ProfileReport& measured, const Graph& graph) {
  const auto sums = [&](const char* name, const std::vector<std::pair<std::string, Ledger>>& all) {
    json.list(name, [&] {
      for (const auto& [of, sum] : all) {
        json.object([&, &of = of, &sum = sum] {
          json.field("of", of);
          json.field("predicted_seconds", sum.predicted_seconds);
          json.field("seconds", sum.seconds);
        });
      }
    });
  };
  JsonLocations locations(json);
  json.object([&] {
    json.list("rows", [&] {
      for (const ProfileReportRow& row : measured.rows) {
        if (!row.node.valid()) continue;
        json.object([&] {
          json.field("node", row.node.index);
          json.field("name", graph.display_name(row.node));
          json.field("op", op_names(graph, row));
          json.field("what", row.what == What::compute ? "compute" : row.what == What::transfer ? "transfer" : "wait");
          json.field("on", row.what == What::transfer ? std::optional<std::string>() : to_string(row.device));
          json.list("members", [&] {
            for (const NodeId member : row.members) json.value(member.index);
          });
          locations.field(graph.nodes[row.node].location);
          json.field("executions", row.executions);
          json.field("predicted_seconds", row.predicted_seconds);
          json.field("seconds", row.seconds);
        });
      }
    });
    sums("by_op", measured.by_op);
    sums("by_side", measured.by_side);
    json.field("transfer_seconds", measured.transfer_seconds);
    json.field("hidden_seconds", measured.hidden_seconds);
  });
}

}  // namespace cleave::runtime
