// The picture of a plan as Graphviz source: a cluster a device, in it a cluster a loop or arm, a node for every copy; what moves as
// labelled edges between the clusters. Rendering it is the caller's matter.
#include <algorithm>
#include <set>
#include <utility>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::string_view kRed = "#cc0000";
constexpr std::string_view kBlue = "#0055aa";

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : escape_controls(text)) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

class Picture {
 public:
  explicit Picture(const Plan& plan)
      : plan_(plan), graph_(*plan.graph), uses_(*plan.costed.uses), deliveries_(graph_, uses_, plan.placement, plan.transfers.items) {
    through_.assign(graph_.nodes.size(), 0);
    for (const RoundTrip& trip : plan.round_trips) {
      for (NodeId node : trip.through) through_[node.index] = 1;
      for (NodeId node : trip.controls) through_[node.index] = 1;
    }
    children_.resize(graph_.regions.size());
    for (std::size_t i = 1; i < graph_.regions.size(); ++i) children_[graph_.regions[RegionId(i)].parent].push_back(RegionId(i));
  }

  std::string run() {
    out_ = "digraph " + quoted(graph_.name) + " {\n";
    out_ += "  compound=true; rankdir=TB; fontname=\"Helvetica\"; labeljust=l;\n";
    out_ += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11];\n";
    out_ += "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#555555\"];\n";
    device(kHost, "#eef3fb");
    device(kAccelerator, "#eefbef");
    local_edges();
    transfer_edges();
    return out_ + "}\n";
  }

 private:
  [[nodiscard]] bool has_copy(NodeId node, DeviceId device) const {
    return (device == kHost ? plan_.placement.on_host : plan_.placement.on_accelerator)[node.index] != 0;
  }
  /// Literals would only clutter; a loop of known length needs no decision.
  [[nodiscard]] bool drawn(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::constant) return graph_.values[node.results[0]].type.elements() > 1;
    if (node.kind == NodeKind::for_loop) return !node.inputs.empty() || graph_.regions[node.regions[0]].predicate;
    return true;
  }
  [[nodiscard]] bool drawn_on(NodeId id, DeviceId device) const {
    if (!drawn(id)) return false;
    return is_control(graph_.nodes[id].kind) ? device == kHost : has_copy(id, device);
  }
  static std::string name_of(NodeId node, DeviceId device) { return (device == kHost ? "h" : "a") + std::to_string(node.index); }

  // --- clusters ---------------------------------------------------------------------------------------------------------------------

  void device(DeviceId device, std::string_view color) {
    IdVector<RegionId, char> filled(graph_.regions.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (drawn_on(NodeId(i), device)) filled[graph_.nodes[NodeId(i)].region] = 1;
    }
    for (std::size_t i = graph_.regions.size(); i-- > 1;) {
      if (filled[RegionId(i)]) filled[graph_.regions[RegionId(i)].parent] = 1;
    }
    const std::string name = "cluster_" + std::to_string(device.index);
    out_ += "  subgraph " + name + " {\n    label=" + quoted(to_string(device)) + "; style=filled; color=" + quoted(color) + ";\n";
    struct Frame {
      RegionId region;
      std::size_t child = 0;
    };
    std::vector<Frame> stack{{Graph::kRoot}};
    nodes(Graph::kRoot, device, 2);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& children = children_[frame.region];
      if (frame.child == children.size()) {
        stack.pop_back();
        indent(stack.size() + 1);
        out_ += "}\n";
        continue;
      }
      const RegionId inner = children[frame.child++];
      if (!filled[inner]) continue;
      stack.push_back({inner});
      indent(stack.size());
      out_ += "subgraph " + name + "_" + std::to_string(inner.index) + " { label=" + quoted(label(inner)) +
              "; style=\"rounded,filled\"; color=\"#999999\"; fillcolor=\"#ffffff88\";\n";
      nodes(inner, device, stack.size() + 1);
    }
  }

  void indent(std::size_t depth) { out_.append(2 * depth, ' '); }

  std::string label(RegionId id) const {
    const Region& region = graph_.regions[id];
    const Node& owner = graph_.nodes[region.owner];
    const std::string about = owner.assumed ? "about " : "";
    switch (region.kind) {
      case RegionKind::for_body: return "for, " + about + number(owner.expected) + " times";
      case RegionKind::while_condition: return "while, " + about + number(owner.expected) + " times";
      case RegionKind::while_body: return "do";
      case RegionKind::then_arm: return "then (" + about + number(owner.expected) + ")";
      case RegionKind::else_arm: return "else (" + about + number(1 - owner.expected) + ")";
      case RegionKind::root: break;
    }
    return "";
  }

  void nodes(RegionId region, DeviceId device, std::size_t depth) {
    for (NodeId id : graph_.regions[region].nodes) {
      if (!drawn_on(id, device)) continue;
      indent(depth);
      out_ += name_of(id, device) + " [label=" + quoted(node_label(id)) + shape(id) + tooltip(graph_.nodes[id].location) + "];\n";
    }
    if (region != Graph::kRoot || device != kHost) return;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      indent(depth);
      out_ += "out" + std::to_string(i) + " [shape=note, label=" + quoted(graph_.outputs[i].name) + "];\n";
    }
  }

  std::string node_label(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const std::string name = culprit_name(graph_, id), given = graph_.display_name(id);
    std::string label = node.op || is_control(node.kind) ? name : given;
    if (node.op && given != name) label += "\n" + given;
    if (!node.results.empty()) label += "\n" + to_string(graph_.values[node.results[0]].type);
    return label;
  }

  std::string shape(NodeId id) const {
    const NodeKind kind = graph_.nodes[id].kind;
    std::string text;
    if (is_control(kind)) text += ", shape=diamond, style=filled";
    if (kind == NodeKind::carried || kind == NodeKind::merge || kind == NodeKind::counter) text += ", shape=ellipse, style=filled";
    if (kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant) text += ", shape=cds, style=filled";
    if (through_[id.index]) text += ", color=" + quoted(kRed) + ", penwidth=2";
    return text;
  }

  static std::string tooltip(const SourceLocation& location) { return location.known() ? ", tooltip=" + quoted(to_string(location)) : ""; }

  // --- edges --------------------------------------------------------------------------------------------------------------------------

  /// The node that reads, on one side; empty if it is not in the picture.
  std::string reader(const ValueUse& use, ValueId value, DeviceId device) const {
    if (use.kind == UseKind::output) {
      for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
        if (graph_.outputs[i].value == value) return "out" + std::to_string(i);
      }
      return "";
    }
    return drawn_on(use.node, device) ? name_of(use.node, device) : "";
  }

  void edge(const std::string& from, const std::string& to, const std::string& attributes) {
    out_ += "  " + from + " -> " + to + (attributes.empty() ? "" : " [" + attributes + "]") + ";\n";
  }

  void local_edges() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId value(i);
      const NodeId producer = graph_.values[value].producer;
      if (!drawn(producer)) continue;
      std::set<std::pair<std::string, std::string>> done;
      for (DeviceId device : {kHost, kAccelerator}) {
        if (!has_copy(producer, device)) continue;
        for (const ValueUse& use : uses_.of(value)) {
          if (!reads_on(plan_.placement, use, device)) continue;
          const std::string from = name_of(producer, device), to = reader(use, value, device);
          if (to.empty() || !done.insert({from, to}).second) continue;
          edge(from, to, style(use));
        }
      }
    }
  }

  std::string style(const ValueUse& use) const {
    if (use.kind == UseKind::yielded) return "style=dashed, constraint=false";
    if (use.kind != UseKind::predicate && use.kind != UseKind::count) return "";
    const bool back = graph_.nodes[use.node].kind != NodeKind::branch && use.kind == UseKind::predicate;
    return std::string("style=dotted") + (back ? ", constraint=false" : "") +
           (through_[use.node.index] ? ", color=" + quoted(kRed) + ", penwidth=2" : "");
  }

  void transfer_edges() {
    for (std::size_t i = 0; i < plan_.transfers.items.size(); ++i) {
      const Transfer& t = plan_.transfers.items[i];
      const NodeId producer = graph_.values[t.value].producer;
      std::string attributes = "color=" + quoted(t.round_trip >= 0 ? kRed : kBlue) + ", penwidth=2";
      if (t.kind != TransferKind::send) attributes += ", style=dashed";
      const std::string label = graph_.values[t.value].name + (graph_.values[t.value].name.empty() ? "" : "\n") +
                                format_bytes(static_cast<double>(t.bytes)) + ", " + times_phrase(graph_, t.region, t.frequency);
      std::set<std::string> done;
      for (const ValueUse& use : deliveries_.of(i)) {
        const std::string to = reader(use, t.value, t.to);
        if (to.empty() || !drawn(producer) || !done.insert(to).second) continue;
        edge(name_of(producer, t.from), to, attributes + (done.size() == 1 ? ", label=" + quoted(label) : ""));
      }
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const ValueUses& uses_;
  const Deliveries deliveries_;
  std::vector<char> through_;  ///< on a round trip, or decided by one
  IdVector<RegionId, std::vector<RegionId>> children_;
  std::string out_;
};

}  // namespace

std::string dot(const Plan& plan) {
  if (!plan.complete()) return "digraph {\n}\n";
  return Picture(plan).run();
}

}  // namespace cleave::planner
