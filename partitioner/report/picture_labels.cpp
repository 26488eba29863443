#include "partitioner/report/picture_labels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/states.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

using Style = LabelLine::Style;

constexpr std::size_t kLongest = 28;  ///< most characters of a line in a node

/// "round trip 2", "round trips 1–3, 7": the numbers are those of explain.
std::string round_trip_phrase(const std::vector<std::size_t>& trips) {
  std::string text = trips.size() == 1 ? "round trip " : "round trips ";
  for (std::size_t i = 0; i < trips.size();) {
    std::size_t last = i;
    while (last + 1 < trips.size() && trips[last + 1] == trips[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(trips[i] + 1);
    if (last > i) text += (last == i + 1 ? ", " : "–") + std::to_string(trips[last] + 1);
    i = last + 1;
  }
  return text;
}

/// The first names, and the number of the others.
std::vector<LabelLine> name_lines(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  const std::size_t shown = names.size() > kNamed + 1 ? kNamed : names.size();
  std::vector<LabelLine> lines;
  for (std::size_t i = 0; i < shown; ++i) lines.push_back({shortened_label(names[i])});
  if (shown < names.size()) lines.push_back({"… and " + std::to_string(names.size() - shown) + " more"});
  return lines;
}

}  // namespace

std::string shortened_label(const std::string& name) {
  const std::string text = escape_controls_one_line(name);
  std::size_t characters = 0, at = 0, cut = 0;
  while (at < text.size()) {
    if (characters + 1 == kLongest) cut = at;
    at += utf8_piece(text, at).length;
    ++characters;
  }
  return characters > kLongest ? text.substr(0, cut) + "…" : text;
}

PictureLabels::PictureLabels(const Plan& plan, const Picture& picture)
    : plan_(plan), graph_(*plan.graph), picture_(picture), coalesced_(coalesced_by_transfer(plan)) {}

std::string PictureLabels::label(const PictureBox& box) {
  if (box.times == 1) return box.label;
  return box.label + (box.label.empty() ? "" : " ") + "×" + std::to_string(box.times);
}

std::vector<LabelLine> PictureLabels::lines(const PictureNode& node) const {
  if (node.kind == PictureNode::Kind::arrival) return {};
  std::vector<LabelLine> lines = node.kind == PictureNode::Kind::output ? output_lines(node)
                                 : node.kind == PictureNode::Kind::part ? part_lines(node)
                                 : node.kind == PictureNode::Kind::run  ? run_lines(node)
                                                                        : node_lines(node);
  std::string causes;
  for (const Cause cause : node.causes) causes += (causes.empty() ? "" : ", ") + std::string(to_string(cause));
  if (!causes.empty()) lines.push_back({causes, Style::cause});
  if (!node.round_trips.empty()) lines.push_back({round_trip_phrase(node.round_trips), Style::waiting});
  return lines;
}

/// The number of equal copies, without those that the boxes around the node count already.
std::string PictureLabels::times(const PictureNode& node) const {
  std::size_t count = node.times;
  for (std::size_t box = node.box; box != PictureBox::kNone; box = picture_.boxes[box].parent) count /= picture_.boxes[box].times;
  return count <= 1 ? "" : " ×" + std::to_string(count);
}

/// The type of the first result; no text if there is none.
LabelLine PictureLabels::type_line(NodeId id) const {
  const Node& node = graph_.nodes[id];
  return {node.results.empty() ? "" : to_string(graph_.values[node.results[0]].type), Style::pale};
}

std::vector<LabelLine> PictureLabels::node_lines(const PictureNode& picture_node) const {
  const NodeId id = picture_node.nodes[0];
  const Node& node = graph_.nodes[id];
  const std::string what = culprit_name(graph_, id), given = graph_.display_name(id);
  std::vector<LabelLine> lines;
  if (node.op)
    lines.push_back({shortened_label(what) + times(picture_node), Style::bold});
  else
    lines.push_back({shortened_label(is_control(node.kind) ? what : given) + last_name(picture_node) + times(picture_node)});
  if (node.op && given != what) lines.push_back({shortened_label(given)});
  if (LabelLine type = type_line(id); !type.text.empty()) lines.push_back(std::move(type));
  return lines;
}

/// For several inputs or parameters drawn as one node: the name of the last one.
std::string PictureLabels::last_name(const PictureNode& node) const {
  const NodeId first = node.nodes.front(), last = node.nodes.back();
  if (node.nodes.size() == 1 || graph_.nodes[first].op) return "";
  return graph_.display_name(first) == graph_.display_name(last) ? "" : " … " + shortened_label(graph_.display_name(last));
}

std::vector<LabelLine> PictureLabels::run_lines(const PictureNode& node) const {
  const std::size_t one = node.nodes.size() / node.times;
  constexpr std::size_t kNamed = 4;
  std::vector<LabelLine> lines;
  std::string line;
  for (std::size_t i = 0; i < one; ++i) {
    if (one > kNamed + 1 && i == kNamed) {
      line += ", … " + std::to_string(one - kNamed) + " more";
      break;
    }
    const std::string name = culprit_name(graph_, node.nodes[i]);
    if (line.size() + name.size() > kLongest) {
      lines.push_back({line + ",", Style::bold});
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + name;
  }
  lines.push_back({line + times(node), Style::bold});
  const NodeId last = node.nodes[one - 1];
  const std::string given = graph_.display_name(last);
  if (given != culprit_name(graph_, last)) lines.push_back({shortened_label(given)});
  lines.push_back(type_line(last));
  return lines;
}

/// The lines of a collapsed part: its name, the number of operations, and the most frequent ones.
std::vector<LabelLine> PictureLabels::part_lines(const PictureNode& node) const {
  if (std::none_of(node.nodes.begin(), node.nodes.end(), [this](NodeId id) { return graph_.nodes[id].op != nullptr; }) && node.name.empty())
    return given_lines(node);
  std::map<std::string, std::size_t> kinds;
  std::size_t operations = 0;
  for (const NodeId id : node.nodes) {
    const Node& one = graph_.nodes[id];
    operations += one.op ? 1 : 0;
    ++kinds[one.op ? culprit_name(graph_, id) : std::string(to_string(one.kind))];
  }
  std::vector<std::pair<std::string, std::size_t>> most(kinds.begin(), kinds.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<LabelLine> lines;
  if (!node.name.empty()) lines.push_back({shortened_label(node.name) + times(node), Style::bold});
  if (operations > 0) lines.push_back({counted(operations, "operation"), node.name.empty() ? Style::bold : Style::plain});
  constexpr std::size_t kKinds = 3;
  std::string line;
  for (std::size_t i = 0; i < std::min(kKinds, most.size()); ++i)
    line += (i == 0 ? "" : ", ") + std::to_string(most[i].second) + " " + most[i].first;
  if (most.size() > kKinds) line += ", …";
  lines.push_back({line, lines.empty() ? Style::bold : Style::pale});
  return lines;
}

std::vector<LabelLine> PictureLabels::given_lines(const PictureNode& node) const {
  std::vector<std::string> names;
  for (const NodeId id : node.nodes) names.push_back(graph_.display_name(id) + (is_state(graph_.nodes[id]) ? ", from run to run" : ""));
  return name_lines(names);
}

std::vector<LabelLine> PictureLabels::output_lines(const PictureNode& node) const {
  std::vector<std::string> names;
  for (const std::size_t output : node.outputs) names.push_back(graph_.outputs[output].name);
  return name_lines(names);
}

NodeShape PictureLabels::shape(const PictureNode& node) const {
  if (node.kind == PictureNode::Kind::output) return NodeShape::output;
  if (node.kind == PictureNode::Kind::part) return NodeShape::part;
  if (node.kind == PictureNode::Kind::run) return NodeShape::run;
  const NodeKind kind = graph_.nodes[node.nodes[0]].kind;
  if (is_control(kind)) return NodeShape::control;
  if (kind == NodeKind::carried || kind == NodeKind::merge || kind == NodeKind::counter) return NodeShape::carried;
  if (kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant) return NodeShape::given;
  return NodeShape::box;
}

std::string PictureLabels::tooltip(const PictureNode& node) const {
  if (node.nodes.empty()) return "";
  const SourceLocation& first = graph_.nodes[node.nodes.front()].location;
  const SourceLocation& last = graph_.nodes[node.nodes.back()].location;
  std::string text = first.known() ? to_string(first) : "";
  if (node.nodes.size() > 1)
    text += (text.empty() || !last.known() ? "" : " to " + to_string(last)) + ", " + counted(node.nodes.size(), "node");
  return text;
}

bool PictureLabels::waiting(const PictureEdge& edge) const {
  return !edge.round_trips.empty() || (edge.kind == PictureEdge::Kind::decides && !picture_.nodes[edge.to].round_trips.empty());
}

std::vector<std::string> PictureLabels::lines(const PictureEdge& edge) const {
  const Transfer& first = plan_.transfers.items[edge.transfers[0]];
  double bytes = 0;
  bool alike = true;
  for (const std::size_t index : edge.transfers) {
    const Transfer& transfer = plan_.transfers.items[index];
    bytes += static_cast<double>(transfer.bytes);
    alike &= transfer.frequency == first.frequency;
  }
  std::vector<std::string> lines;
  if (edge.transfers.size() > 1) {
    lines.push_back(std::to_string(edge.transfers.size()) + " values");
  } else if (const std::string& name = graph_.values[first.value].name; !name.empty()) {
    lines.push_back(shortened_label(name));
  }
  if (alike) {
    const std::string times = times_phrase(graph_, first.region, first.frequency);
    lines.push_back(format_bytes(bytes) + ",");
    if (times.size() > kLongest)
      lines.push_back(times);
    else
      lines.back() += " " + times;
  } else {
    double total = 0;
    for (const std::size_t index : edge.transfers)
      total += static_cast<double>(plan_.transfers.items[index].bytes) * plan_.transfers.items[index].frequency;
    lines.push_back(format_bytes(total) + " a run");
  }
  const CoalescedId coalesced = coalesced_[edge.transfers[0]];
  const bool together =
      std::all_of(edge.transfers.begin(), edge.transfers.end(), [&](std::size_t index) { return coalesced_[index] == coalesced; });
  if (coalesced && together) lines.push_back(coalesced_phrase(coalesced));
  if (edge.readers > 1) lines.push_back(counted(edge.readers, "reader"));
  if (!edge.round_trips.empty()) lines.push_back(round_trip_phrase(edge.round_trips));
  return lines;
}

Legend PictureLabels::legend() const {
  Legend legend;
  const auto row = [&legend](std::string key, std::string_view color, bool bold, std::string meaning) {
    legend.rows.push_back({std::move(key), color, bold, false, std::move(meaning)});
  };
  const auto any_edge = [this](auto&& test) { return std::any_of(picture_.edges.begin(), picture_.edges.end(), test); };
  const auto any_node = [this](auto&& test) { return std::any_of(picture_.nodes.begin(), picture_.nodes.end(), test); };
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::send; })) row("———", kPictureBlue, true, "transfer");
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::argument || e.kind == PictureEdge::Kind::result; }))
    row("– – –", kPictureBlue, true, "transfer of an argument or a result");
  if (!plan_.round_trips.empty()) {
    const auto warned =
        std::count_if(plan_.round_trips.begin(), plan_.round_trips.end(), [](const RoundTrip& trip) { return trip.warned(); });
    row("red", kPictureRed, true,
        "accelerator work waits for the host: " + counted(plan_.round_trips.size(), "round trip") + " (" + std::to_string(warned) +
            " to be warned of)");
  }
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::carries; }))
    row("– – –", kPictureGrey, false, "to the next iteration, or the next of equal layers");
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::decides; }))
    row("· · · ·", kPictureGrey, false, "decides a loop or branch");
  const bool ruled = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& node) { return node.pin.by_rule(); });
  const std::pair<Cause, const char*> causes[] = {
      {Cause::cheaper, "on the host because that costs less"},
      {Cause::pinned, ruled ? "on the host as ONNX Runtime has it there" : "on the host because the program says so"},
      {Cause::no_kernel, "on the host because the accelerator has no kernel for it"},
      {Cause::effect, "on the host because it has an effect"},
      {Cause::memory, "on the host because the accelerator's memory is too small"}};
  for (const auto& [cause, meaning] : causes) {
    if (any_node([wanted = cause](const PictureNode& n) { return std::find(n.causes.begin(), n.causes.end(), wanted) != n.causes.end(); }))
      legend.rows.push_back({std::string(to_string(cause)), kPictureMark, false, true, meaning});
  }
  if (any_node([](const PictureNode& n) { return n.times > 1; })) row("×12", {}, false, "so many alike, drawn once");
  legend.head.push_back({shortened_label(graph_.name), Style::bold});
  legend.head.push_back({machine_phrase(plan_.machine) + ", predicted " + format_seconds(plan_.predicted_seconds) + " a run"});
  if (picture_.collapsed) legend.head.push_back({"shaded: several operations in one; --full shows all"});
  return legend;
}

}  // namespace cleave::planner
