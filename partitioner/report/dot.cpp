// Writes a picture as Graphviz source: a cluster for each box, labels in HTML, and a legend of the kinds that occur. The caller renders it.
#include <algorithm>
#include <map>
#include <utility>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/states.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/picture.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::string_view kRed = "#cc0000", kBlue = "#0055aa", kGrey = "#555555", kMark = "#8a4b00", kPale = "#666666";
constexpr std::string_view kHostColor = "#eef3fb", kAcceleratorColor = "#eefbef", kCollapsed = "#f3ecd8";
constexpr std::size_t kLongest = 28;  ///< most characters of a line in a node

/// A quoted label with each text on a line of its own.
std::string quoted(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\\n";
    for (const char c : escape_controls_one_line(lines[i])) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string quoted(std::string_view text) {
  return quoted(std::vector<std::string>{std::string(text)});
}

/// Escapes text for an HTML label.
std::string html(std::string_view text) {
  std::string out;
  for (const char c : escape_controls_one_line(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string shortened(const std::string& name) {
  const std::string text = escape_controls_one_line(name);
  std::size_t characters = 0, at = 0, cut = 0;
  while (at < text.size()) {
    if (characters + 1 == kLongest) cut = at;
    at += utf8_piece(text, at).length;
    ++characters;
  }
  return characters > kLongest ? text.substr(0, cut) + "…" : text;
}

std::string small(std::string_view text, std::string_view color) {
  return "<FONT POINT-SIZE=\"9\" COLOR=\"" + std::string(color) + "\">" + std::string(text) + "</FONT>";
}

/// A bold line of a label. A line must have one style from beginning to end: browsers have other fonts than Graphviz and ignore blanks at
/// the beginning of a text, so text beside another style would overlap or touch it.
std::string bold(const std::string& line) {
  return "<B>" + line + "</B>";
}

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

class DotWriter {
 public:
  DotWriter(const Plan& plan, const Picture& picture)
      : plan_(plan),
        graph_(*plan.graph),
        picture_(picture),
        coalesced_(coalesced_by_transfer(plan)),
        leads_back_(find_leading_back(picture)) {
    children_.resize(picture.boxes.size());
    in_box_.resize(picture.boxes.size());
    for (std::size_t i = 0; i < picture.boxes.size(); ++i)
      if (picture.boxes[i].parent != PictureBox::kNone) children_[picture.boxes[i].parent].push_back(i);
    for (std::size_t i = 0; i < picture.nodes.size(); ++i) in_box_[picture.nodes[i].box].push_back(i);
  }

  std::string run() {
    out_ = "digraph " + quoted(graph_.name) + " {\n";
    out_ += "  compound=true; rankdir=TB; newrank=true; fontname=\"Helvetica\"; labeljust=l; nodesep=0.2; ranksep=0.35;\n";
    out_ +=
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11, height=0.3, "
        "margin=\"0.1,0.04\"];\n";
    out_ += "  edge [fontname=\"Helvetica\", fontsize=10, color=\"" + std::string(kGrey) + "\", arrowsize=0.7];\n";
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i)
      if (picture_.boxes[i].parent == PictureBox::kNone) box(i, 1);
    for (const PictureEdge& edge : picture_.edges) draw(edge);
    keep_loops_below();
    legend();
    return out_ + "}\n";
  }

 private:
  void indent(std::size_t depth) { out_.append(2 * depth, ' '); }
  [[nodiscard]] std::string name_of(std::size_t node) const { return "n" + std::to_string(node); }

  // --- boxes --------------------------------------------------------------------------------------------------------------------------

  void box(std::size_t index, std::size_t depth) {
    const PictureBox& box_here = picture_.boxes[index];
    if (box_here.kind != PictureBox::Kind::device && children_[index].empty() && in_box_[index].empty()) return;
    indent(depth);
    out_ += "subgraph cluster_" + std::to_string(index) + " {\n";
    indent(depth + 1);
    out_ += "label=" + quoted(box_label(box_here)) + "; " + box_style(box_here) + "\n";
    for (const std::size_t node : in_box_[index]) write(node, depth + 1);
    for (const std::size_t child : children_[index]) box(child, depth + 1);
    indent(depth);
    out_ += "}\n";
  }

  static std::string box_label(const PictureBox& box) {
    if (box.times == 1) return box.label;
    return box.label + (box.label.empty() ? "" : " ") + "×" + std::to_string(box.times);
  }

  static std::string box_style(const PictureBox& box) {
    switch (box.kind) {
      case PictureBox::Kind::device:
        return "style=filled; color=" + quoted(box.device == kHost ? kHostColor : kAcceleratorColor) + "; fontsize=14;" +
               (box.device == kHost ? "" : " labeljust=r;");
      case PictureBox::Kind::region: return "style=\"rounded,filled\"; color=\"#999999\"; fillcolor=\"#ffffff88\"; fontsize=11;";
      case PictureBox::Kind::scope: return "style=\"rounded,dashed\"; color=\"#999999\"; fontsize=10;";
      case PictureBox::Kind::repeated: break;
    }
    return "style=\"rounded,dashed\"; color=" + quoted(kMark) + "; fontsize=11;";
  }

  // --- nodes --------------------------------------------------------------------------------------------------------------------------

  void write(std::size_t index, std::size_t depth) {
    const PictureNode& node = picture_.nodes[index];
    indent(depth);
    out_ += name_of(index) + " [";
    if (node.kind == PictureNode::Kind::arrival) {
      out_ += "shape=point, width=0.07, height=0.07, label=\"\"";
    } else {
      out_ += "label=<" + label(node) + ">" + shape(node);
      if (!node.round_trips.empty()) out_ += ", color=" + quoted(kRed) + ", penwidth=2";
      if (const std::string tip = tooltip(node); !tip.empty()) out_ += ", tooltip=" + quoted(tip);
    }
    out_ += "];\n";
  }

  std::string label(const PictureNode& node) const {
    std::vector<std::string> lines = node.kind == PictureNode::Kind::output ? output_lines(node)
                                     : node.kind == PictureNode::Kind::part ? part_lines(node)
                                     : node.kind == PictureNode::Kind::run  ? run_lines(node)
                                                                            : node_lines(node);
    std::string causes;
    for (const Cause cause : node.causes) causes += (causes.empty() ? "" : ", ") + std::string(to_string(cause));
    if (!causes.empty()) lines.push_back(small(causes, kMark));
    if (!node.round_trips.empty()) lines.push_back(small(round_trip_phrase(node.round_trips), kRed));
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : "<BR/>") + line;
    return text;
  }

  /// The number of equal copies, without those that the boxes around the node count already.
  std::string times(const PictureNode& node) const {
    std::size_t count = node.times;
    for (std::size_t box = node.box; box != PictureBox::kNone; box = picture_.boxes[box].parent) count /= picture_.boxes[box].times;
    return count <= 1 ? "" : " ×" + std::to_string(count);
  }

  std::string type_line(NodeId id) const {
    const Node& node = graph_.nodes[id];
    return node.results.empty() ? "" : small(html(to_string(graph_.values[node.results[0]].type)), kPale);
  }

  std::vector<std::string> node_lines(const PictureNode& picture_node) const {
    const NodeId id = picture_node.nodes[0];
    const Node& node = graph_.nodes[id];
    const std::string what = culprit_name(graph_, id), given = graph_.display_name(id);
    std::vector<std::string> lines;
    if (node.op)
      lines.push_back(bold(html(shortened(what)) + times(picture_node)));
    else
      lines.push_back(html(shortened(is_control(node.kind) ? what : given)) + last_name(picture_node) + times(picture_node));
    if (node.op && given != what) lines.push_back(html(shortened(given)));
    if (const std::string type = type_line(id); !type.empty()) lines.push_back(type);
    return lines;
  }

  /// For several inputs or parameters drawn as one node: the name of the last one.
  std::string last_name(const PictureNode& node) const {
    const NodeId first = node.nodes.front(), last = node.nodes.back();
    if (node.nodes.size() == 1 || graph_.nodes[first].op) return "";
    return graph_.display_name(first) == graph_.display_name(last) ? "" : " … " + html(shortened(graph_.display_name(last)));
  }

  std::vector<std::string> run_lines(const PictureNode& node) const {
    const std::size_t one = node.nodes.size() / node.times;
    constexpr std::size_t kNamed = 4;
    std::vector<std::string> lines;
    std::string line;
    for (std::size_t i = 0; i < one; ++i) {
      if (one > kNamed + 1 && i == kNamed) {
        line += ", … " + std::to_string(one - kNamed) + " more";
        break;
      }
      const std::string name = culprit_name(graph_, node.nodes[i]);
      if (line.size() + name.size() > kLongest) {
        lines.push_back(bold(html(line) + ","));
        line.clear();
      }
      line += (line.empty() ? "" : ", ") + name;
    }
    lines.push_back(bold(html(line) + times(node)));
    const NodeId last = node.nodes[one - 1];
    const std::string given = graph_.display_name(last);
    if (given != culprit_name(graph_, last)) lines.push_back(html(shortened(given)));
    lines.push_back(type_line(last));
    return lines;
  }

  /// The lines of a collapsed part: its name, the number of operations, and the most frequent ones.
  std::vector<std::string> part_lines(const PictureNode& node) const {
    if (std::none_of(node.nodes.begin(), node.nodes.end(), [this](NodeId id) { return graph_.nodes[id].op != nullptr; }) &&
        node.name.empty())
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
    std::vector<std::string> lines;
    if (!node.name.empty()) lines.push_back(bold(html(shortened(node.name)) + times(node)));
    if (operations > 0) lines.push_back(node.name.empty() ? bold(counted(operations, "operation")) : counted(operations, "operation"));
    constexpr std::size_t kKinds = 3;
    std::string line;
    for (std::size_t i = 0; i < std::min(kKinds, most.size()); ++i)
      line += (i == 0 ? "" : ", ") + std::to_string(most[i].second) + " " + most[i].first;
    if (most.size() > kKinds) line += ", …";
    if (lines.empty())
      lines.push_back(bold(html(line)));
    else
      lines.push_back(small(html(line), kPale));
    return lines;
  }

  /// The first names, and the number of the others.
  static std::vector<std::string> name_lines(const std::vector<std::string>& names) {
    constexpr std::size_t kNamed = 3;
    const std::size_t shown = names.size() > kNamed + 1 ? kNamed : names.size();
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(html(shortened(names[i])));
    if (shown < names.size()) lines.push_back("… and " + std::to_string(names.size() - shown) + " more");
    return lines;
  }

  std::vector<std::string> given_lines(const PictureNode& node) const {
    std::vector<std::string> names;
    for (const NodeId id : node.nodes) names.push_back(graph_.display_name(id) + (is_state(graph_.nodes[id]) ? ", from run to run" : ""));
    return name_lines(names);
  }

  std::vector<std::string> output_lines(const PictureNode& node) const {
    std::vector<std::string> names;
    for (const std::size_t output : node.outputs) names.push_back(graph_.outputs[output].name);
    return name_lines(names);
  }

  std::string shape(const PictureNode& node) const {
    if (node.kind == PictureNode::Kind::output) return ", shape=note, style=filled";
    if (node.kind == PictureNode::Kind::part) return ", shape=box3d, style=filled, fillcolor=" + quoted(kCollapsed);
    if (node.kind == PictureNode::Kind::run) return ", fillcolor=" + quoted(kCollapsed);
    const NodeKind kind = graph_.nodes[node.nodes[0]].kind;
    if (is_control(kind)) return ", shape=diamond, style=filled";
    if (kind == NodeKind::carried || kind == NodeKind::merge || kind == NodeKind::counter) return ", shape=ellipse, style=filled";
    if (kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant)
      return ", shape=cds, style=filled, margin=\"0.15,0.08\"";
    return "";
  }

  /// The locations of the first and the last operation.
  std::string tooltip(const PictureNode& node) const {
    if (node.nodes.empty()) return "";
    const SourceLocation& first = graph_.nodes[node.nodes.front()].location;
    const SourceLocation& last = graph_.nodes[node.nodes.back()].location;
    std::string text = first.known() ? to_string(first) : "";
    if (node.nodes.size() > 1)
      text += (text.empty() || !last.known() ? "" : " to " + to_string(last)) + ", " + counted(node.nodes.size(), "node");
    return text;
  }

  // --- edges --------------------------------------------------------------------------------------------------------------------------

  void draw(const PictureEdge& edge) {
    std::string style;
    const auto add = [&style](const std::string& attribute) { style += (style.empty() ? "" : ", ") + attribute; };
    const bool red = !edge.round_trips.empty() || (edge.kind == PictureEdge::Kind::decides && !picture_.nodes[edge.to].round_trips.empty());
    if (edge.moves()) {
      add("color=" + quoted(red ? kRed : kBlue) + ", fontcolor=" + quoted(red ? kRed : kBlue) + ", penwidth=2");
      if (edge.kind != PictureEdge::Kind::send) add("style=dashed");
      add("label=" + quoted(transfer_label(edge)));
    } else {
      if (red) add("color=" + quoted(kRed));
      if (edge.kind == PictureEdge::Kind::decides) add("style=dotted, penwidth=2");
      if (edge.kind == PictureEdge::Kind::carries) add("style=dashed");
    }
    if (edge.backwards || beside(edge)) add("constraint=false");
    out_ += "  " + name_of(edge.from) + " -> " + name_of(edge.to) + (style.empty() ? "" : " [" + style + "]") + ";\n";
  }

  /// Whether an edge leads from a loop on the accelerator to host work whose results do not go back there in the same iteration. The layout
  /// ignores such an edge: it need not put this work below the accelerator's, which would leave the host's box empty above it.
  bool beside(const PictureEdge& edge) const {
    if (edge.kind != PictureEdge::Kind::send || picture_.nodes[edge.to].device != kHost) return false;
    return plan_.transfers.items[edge.transfers[0]].region != Graph::kRoot && !leads_back_[edge.to];
  }

  /// By node, whether a node on the accelerator depends on it in the same iteration.
  static std::vector<bool> find_leading_back(const Picture& picture) {
    std::vector<std::vector<std::size_t>> sources(picture.nodes.size());
    for (const PictureEdge& edge : picture.edges)
      if (!edge.backwards) sources[edge.to].push_back(edge.from);
    std::vector<bool> found(picture.nodes.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < picture.nodes.size(); ++i)
      if (picture.nodes[i].device == kAccelerator) open.push_back(i);
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::size_t source : sources[node]) {
        if (found[source]) continue;
        found[source] = true;
        open.push_back(source);
      }
    }
    return found;
  }

  std::vector<std::string> transfer_label(const PictureEdge& edge) const {
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
      lines.push_back(shortened(name));
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

  /// Keeps each loop or branch above the nodes in it.
  void keep_loops_below() {
    std::map<std::pair<RegionId, DeviceId>, std::size_t> first;  // by region and device where it is decided: the first node
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i)
      if (const PictureNode& node = picture_.nodes[i]; !node.nodes.empty())
        first.try_emplace({graph_.nodes[node.nodes[0]].region, node.device}, i);
    for (std::size_t i = 0; i < picture_.nodes.size(); ++i) {
      if (picture_.nodes[i].kind != PictureNode::Kind::one || !is_control(graph_.nodes[picture_.nodes[i].nodes[0]].kind)) continue;
      for (const RegionId region : graph_.nodes[picture_.nodes[i].nodes[0]].regions)
        if (const auto at = first.find({region, picture_.nodes[i].device}); at != first.end())
          out_ += "  " + name_of(i) + " -> " + name_of(at->second) + " [style=invis];\n";
    }
  }

  // --- legend -------------------------------------------------------------------------------------------------------------------------

  void legend();

  const Plan& plan_;
  const Graph& graph_;
  const Picture& picture_;
  const std::vector<CoalescedId> coalesced_;  ///< by transfer
  const std::vector<bool> leads_back_;
  std::vector<std::vector<std::size_t>> children_, in_box_;
  std::string out_;
};

void DotWriter::legend() {
  std::string rows;
  const auto row = [&rows](const std::string& key, const std::string& meaning) {
    rows += "<TR><TD ALIGN=\"LEFT\">" + key + "</TD><TD ALIGN=\"LEFT\">" + meaning + "</TD></TR>";
  };
  const auto colored = [](std::string_view text, std::string_view color) {
    return "<FONT COLOR=\"" + std::string(color) + "\">" + std::string(text) + "</FONT>";
  };
  const auto any_edge = [this](auto&& test) { return std::any_of(picture_.edges.begin(), picture_.edges.end(), test); };
  const auto any_node = [this](auto&& test) { return std::any_of(picture_.nodes.begin(), picture_.nodes.end(), test); };
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::send; })) row(colored("<B>———</B>", kBlue), "transfer");
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::argument || e.kind == PictureEdge::Kind::result; }))
    row(colored("<B>– – –</B>", kBlue), "transfer of an argument or a result");
  if (!plan_.round_trips.empty()) {
    const auto warned =
        std::count_if(plan_.round_trips.begin(), plan_.round_trips.end(), [](const RoundTrip& trip) { return trip.warned(); });
    row(colored("<B>red</B>", kRed), "accelerator work waits for the host: " + counted(plan_.round_trips.size(), "round trip") + " (" +
                                         std::to_string(warned) + " to be warned of)");
  }
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::carries; }))
    row(colored("– – –", kGrey), "to the next iteration, or the next of equal layers");
  if (any_edge([](const PictureEdge& e) { return e.kind == PictureEdge::Kind::decides; }))
    row(colored("· · · ·", kGrey), "decides a loop or branch");
  const bool ruled = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& node) { return node.pin.by_rule(); });
  const std::pair<Cause, const char*> causes[] = {
      {Cause::cheaper, "on the host because that costs less"},
      {Cause::pinned, ruled ? "on the host as ONNX Runtime has it there" : "on the host because the program says so"},
      {Cause::no_kernel, "on the host because the accelerator has no kernel for it"},
      {Cause::effect, "on the host because it has an effect"},
      {Cause::memory, "on the host because the accelerator's memory is too small"}};
  for (const auto& [cause, meaning] : causes) {
    if (any_node([wanted = cause](const PictureNode& n) { return std::find(n.causes.begin(), n.causes.end(), wanted) != n.causes.end(); }))
      row(small(to_string(cause), kMark), meaning);
  }
  if (any_node([](const PictureNode& n) { return n.times > 1; })) row("×12", "so many alike, drawn once");
  std::string head;
  const auto line = [&head](const std::string& text) { head += "<TR><TD ALIGN=\"LEFT\" COLSPAN=\"2\">" + text + "</TD></TR>"; };
  line(bold(html(shortened(graph_.name))));
  line(html(machine_phrase(plan_.machine)) + ", predicted " + html(format_seconds(plan_.predicted_seconds)) + " a run");
  if (picture_.collapsed) line("shaded: several operations in one; --full shows all");
  out_ += "  fontsize=10; labelloc=b; label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"2\">" + head + rows +
          "</TABLE>>;\n";
}

}  // namespace

std::string dot(const Plan& plan, const PictureOptions& options) {
  if (!plan.complete()) return "digraph {\n}\n";
  return DotWriter(plan, make_picture(plan, options)).run();
}

}  // namespace cleave::planner
