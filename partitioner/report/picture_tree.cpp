// Builds the tree in program order: nested regions, and in them the scopes and functions in which their nodes were traced.
#include "partitioner/report/picture_tree.h"

#include <algorithm>
#include <utility>

#include "graph/states.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

using Chain = std::vector<const SourceFrame*>;  ///< outermost first

Chain chain_of(const SourceLocation& location) {
  Chain chain;
  for (const SourceFrame* frame = location.via.get(); frame != nullptr; frame = frame->location.via.get()) chain.push_back(frame);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::size_t common(const Chain& a, const Chain& b) {
  std::size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length]) ++length;
  return length;
}

/// An item of a region's list, with the scopes around it.
struct Placed {
  Chain chain;
  PictureItem item;
};

class PictureTreeMaker {
 public:
  PictureTreeMaker(const Plan& plan, const NodeFacts& facts, DeviceId device)
      : plan_(plan), graph_(*plan.graph), facts_(facts), device_(device) {
    children_.resize(graph_.regions.size());
    for (std::size_t i = 1; i < graph_.regions.size(); ++i) {
      const Region& region = graph_.regions[RegionId(i)];
      // A `while` loop's body is nested in its condition, at the end.
      if (region.kind == RegionKind::while_body) children_[region.parent].push_back(RegionId(i));
    }
  }

  PictureItem run() {
    PictureItem root = box(PictureBox::Kind::device, to_string(device_));
    root.items = in_region(Graph::kRoot, {});
    if (device_ != kHost) return root;
    const std::vector<bool> stays = followed_outputs(graph_);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (stays[i]) continue;
      PictureItem output;
      output.leaf.kind = PictureNode::Kind::output;
      output.leaf.device = device_;
      output.leaf.outputs = {i};
      root.items.push_back(std::move(output));
    }
    return root;
  }

 private:
  PictureItem box(PictureBox::Kind kind, std::string label) const {
    PictureItem item;
    item.is_box = true;
    item.box.kind = kind;
    item.box.device = device_;
    item.box.label = std::move(label);
    return item;
  }

  PictureItem leaf(NodeId node) const {
    PictureItem item;
    item.leaf.device = device_;
    item.leaf.nodes = {node};
    item.leaf.round_trips = facts_.round_trips[node.index];
    if (device_ == kHost && graph_.nodes[node].kind == NodeKind::operation && !plan_.placement.has_copy(node.index, kAccelerator)) {
      const Cause forced = plan_.costed.forced[node.index];
      item.leaf.causes = {forced == Cause::none ? Cause::cheaper : forced};
    }
    return item;
  }

  std::vector<PictureItem> in_region(RegionId region, const Chain& around) {
    std::vector<Placed> placed;
    const auto inner = [&](RegionId id, const Chain& chain) {
      PictureItem item = box(PictureBox::Kind::region, region_label(graph_, id));
      item.items = in_region(id, chain);
      if (!item.items.empty()) placed.push_back({chain, std::move(item)});
    };
    for (const NodeId id : graph_.regions[region].nodes) {
      const Node& node = graph_.nodes[id];
      const bool here = is_drawn(plan_, facts_, id, device_);
      if (!here && node.regions.empty()) continue;
      const Chain chain = chain_of(node.location);
      if (here) placed.push_back({chain, leaf(id)});
      for (const RegionId child : node.regions)
        if (graph_.regions[child].parent == region) inner(child, chain);
    }
    for (const RegionId child : children_[region]) inner(child, around);
    return scoped(placed, 0, placed.size(), around.size());
  }

  /// The items [begin, end), with boxes for the scopes that are more than `depth` deep.
  std::vector<PictureItem> scoped(std::vector<Placed>& placed, std::size_t begin, std::size_t end, std::size_t depth) const {
    std::vector<PictureItem> items;
    while (begin < end) {
      const Chain& chain = placed[begin].chain;
      if (chain.size() <= depth) {
        items.push_back(std::move(placed[begin++].item));
        continue;
      }
      std::size_t last = begin + 1;
      while (last < end && common(placed[last].chain, chain) > depth) ++last;
      PictureItem scope = box(PictureBox::Kind::scope, chain[depth]->label);
      scope.items = scoped(placed, begin, last, depth + 1);
      items.push_back(std::move(scope));
      begin = last;
    }
    return items;
  }

  const Plan& plan_;
  const Graph& graph_;
  const NodeFacts& facts_;
  const DeviceId device_;
  IdVector<RegionId, std::vector<RegionId>> children_;
};

}  // namespace

std::string region_label(const Graph& graph, RegionId id) {
  const Region& region = graph.regions[id];
  if (region.kind == RegionKind::root) return "";
  const Node& owner = graph.nodes[region.owner];
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

bool is_drawn(const Plan& plan, const NodeFacts& facts, NodeId id, DeviceId device) {
  const Node& node = plan.graph->nodes[id];
  if (is_control(node.kind)) {
    if (device != (plan.placement.has_copy(id.index, kHost) ? kHost : kAccelerator)) return false;  // it is drawn where it is decided
    return node.kind != NodeKind::for_loop || !node.inputs.empty() || plan.graph->regions[node.regions[0]].predicate;
  }
  if (!plan.placement.has_copy(id.index, device) || facts.idle[id.index]) return false;
  return node.kind != NodeKind::constant || facts.moves[id.index] || plan.graph->values[node.results[0]].type.elements() > 1;
}

PictureItem picture_tree(const Plan& plan, const NodeFacts& facts, DeviceId device) {
  return PictureTreeMaker(plan, facts, device).run();
}

std::size_t leaves(const PictureItem& item) {
  if (!item.is_box) return 1;
  std::size_t count = 0;
  for (const PictureItem& inner : item.items) count += leaves(inner);
  return count;
}

void dissolve_small_scopes(PictureItem& root) {
  std::vector<PictureItem> items;
  for (PictureItem& item : root.items) {
    if (item.is_box) dissolve_small_scopes(item);
    if (item.is_box && item.box.kind == PictureBox::Kind::scope && item.items.size() == 1) {
      PictureItem only = std::move(item.items[0]);
      if (only.is_box && only.box.kind == PictureBox::Kind::scope) only.box.label = item.box.label + ": " + only.box.label;
      items.push_back(std::move(only));
    } else if (!item.is_box || !item.items.empty()) {
      items.push_back(std::move(item));
    }
  }
  root.items = std::move(items);
}

}  // namespace cleave::planner
