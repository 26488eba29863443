#include "partitioner/apply/transfers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {
namespace {

/// Whether a node's host copy depends on accelerator work, through data or control. A node without a host copy counts as such work.
std::vector<char> depends_on_accelerator(const Graph& graph, const ValueUses& uses, const Placement& placement) {
  std::vector<char> tainted(graph.nodes.size(), 0);
  std::vector<NodeId> pending;
  const auto taint = [&](NodeId node) {
    if (!tainted[node.index]) {
      tainted[node.index] = 1;
      pending.push_back(node);
    }
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!placement.has_copy(i, kHost) && !is_control(graph.nodes[NodeId(i)].kind)) taint(NodeId(i));
  }
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    const Node& node = graph.nodes[id];
    for (ValueId value : node.results) {
      for (const ValueUse& use : uses.of(value)) {
        if (use.node) taint(use.node);
      }
    }
    for (RegionId region : node.regions) {
      for (NodeId inner : graph.regions[region].nodes) taint(inner);
    }
    if (node.kind == NodeKind::branch) {
      const auto& siblings = graph.regions[node.region].nodes;
      for (auto k = static_cast<std::size_t>(uses.position(id)) + 1; k < siblings.size(); ++k) {
        if (graph.nodes[siblings[k]].owner != id) break;
        taint(siblings[k]);
      }
    }
  }
  return tainted;
}

IdVector<RegionId, char> regions_in_loops(const Graph& graph) {
  IdVector<RegionId, char> in_loop(graph.regions.size(), 0);
  for (std::size_t i = 0; i < graph.regions.size(); ++i) {  // parents come first
    const Region& region = graph.regions[RegionId(i)];
    const bool arm = region.kind == RegionKind::then_arm || region.kind == RegionKind::else_arm;
    if (region.parent) in_loop[RegionId(i)] = arm ? in_loop[region.parent] : 1;
  }
  return in_loop;
}

/// The reads on one device that the user marked as intended, also those of values passed on by carried and merge nodes. Outputs do not need
/// marks.
class MarkedReadings {
 public:
  MarkedReadings(const Graph& graph, const ValueUses& uses, const Placement& placement, DeviceId device)
      : graph_(graph), unmarked_(graph.nodes.size(), 0), marked_(graph.nodes.size(), 0) {
    std::vector<std::pair<NodeId, bool>> found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!hands_on(NodeId(i))) continue;
      for (ValueId value : graph.nodes[NodeId(i)].results) {
        for (const ValueUse& use : uses.of(value)) {
          if (use.kind == UseKind::output || !reads_on(placement, use, device)) continue;
          const bool is_marked = graph.nodes[use.node].means(value);
          if (is_marked || !hands_on(use.node)) found.emplace_back(NodeId(i), is_marked);
        }
      }
    }
    while (!found.empty()) {
      const auto [node, is_marked] = found.back();
      found.pop_back();
      char& known = (is_marked ? marked_ : unmarked_)[node.index];
      if (known) continue;
      known = 1;
      for (ValueId value : graph.nodes[node].inputs) {
        const NodeId producer = graph.values[value].producer;
        if (hands_on(producer) && placement.has_copy(producer.index, device) && !graph.nodes[node].means(value))
          found.emplace_back(producer, is_marked);
      }
    }
  }

  /// Whether all reads of `value` are marked, and there is at least one.
  [[nodiscard]] bool all(ValueId value, std::span<const ValueUse> uses) const {
    bool any = false;
    for (const ValueUse& use : uses) {
      if (use.kind == UseKind::output) continue;
      const bool meant = graph_.nodes[use.node].means(value);
      if (!meant && (!hands_on(use.node) || unmarked_[use.node.index] != 0)) return false;
      any = any || meant || marked_[use.node.index];
    }
    return any;
  }

 private:
  [[nodiscard]] bool hands_on(NodeId node) const {
    return node && (graph_.nodes[node].kind == NodeKind::carried || graph_.nodes[node].kind == NodeKind::merge);
  }

  const Graph& graph_;
  std::vector<char> unmarked_, marked_;  ///< by carried or merge node: some read of its copy there is not marked, or is marked
};

/// The merge nodes whose host copy only becomes outputs, directly or through further merges. A value sent for one of these is a result.
std::vector<char> merges_into_outputs(const Graph& graph, const ValueUses& uses, const Placement& placement) {
  std::vector<char> only_outputs(graph.nodes.size(), 0);
  std::vector<NodeId> refused;
  const auto refuse = [&](NodeId merge) {
    if (std::exchange(only_outputs[merge.index], 0)) refused.push_back(merge);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) only_outputs[i] = graph.nodes[NodeId(i)].kind == NodeKind::merge;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!only_outputs[i]) continue;
    const auto readings = uses.of(graph.nodes[NodeId(i)].results[0]);
    const auto otherwise = [&](const ValueUse& use) {
      return use.kind != UseKind::output && use.kind != UseKind::arm && reads_on(placement, use, kHost);
    };
    if (std::any_of(readings.begin(), readings.end(), otherwise)) refuse(NodeId(i));
  }
  while (!refused.empty()) {
    const NodeId merge = refused.back();
    refused.pop_back();
    if (!placement.has_copy(merge.index, kHost)) continue;
    for (const ValueId value : graph.nodes[merge].inputs) {
      const NodeId producer = graph.values[value].producer;
      if (graph.nodes[producer].kind == NodeKind::merge) refuse(producer);
    }
  }
  return only_outputs;
}

/// Whether each transfer happens at most once in a run, whatever the branches decide. Transfers in loops do not count. Transfers of one
/// value in different arms of a branch exclude each other; all others may add up.
std::vector<char> sent_once(const Graph& graph, const std::vector<Transfer>& transfers, const IdVector<RegionId, char>& in_loop) {
  std::map<std::pair<ValueId, DeviceId>, std::vector<std::size_t>> of_value;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!in_loop[transfers[i].region]) of_value[{transfers[i].value, transfers[i].to}].push_back(i);
  }
  std::vector<char> once(transfers.size(), 0);
  for (const auto& [value, items] : of_value) {
    std::map<RegionId, int, std::greater<>> most;  // by region; inner regions come first, since they have larger ids
    std::map<NodeId, int> of_branch;
    for (const std::size_t i : items) ++most[transfers[i].region];
    while (most.begin()->first != Graph::kRoot) {
      const auto [region, count] = *most.begin();
      most.erase(most.begin());
      int& known = of_branch[graph.regions[region].owner];
      most[graph.regions[region].parent] += std::max(count - known, 0);
      known = std::max(known, count);
    }
    for (const std::size_t i : items) once[i] = most.begin()->second <= 1;
  }
  return once;
}

}  // namespace

std::string_view to_string(TransferKind kind) {
  switch (kind) {
    case TransferKind::argument: return "argument";
    case TransferKind::result: return "result";
    case TransferKind::send: break;
  }
  return "send";
}

Transfers make_transfers(const Graph& graph, const CostedProblem& costed, const Placement& placement) {
  const ValueUses& uses = *costed.uses;
  Transfers transfers;
  transfers.items.reserve(placement.transfers.size());
  for (const PlannedTransfer& planned : placement.transfers) {
    // A pseudo-value says that a loop or branch runs (control_costs.h); decisions are sent through control streams, not on channels.
    if (static_cast<std::size_t>(planned.value) >= graph.values.size()) continue;
    Transfer t;
    t.value = ValueId(static_cast<std::size_t>(planned.value));
    t.region = RegionId(static_cast<std::size_t>(planned.region));
    t.from = planned.from;
    t.to = planned.to;
    t.bytes = graph.values[t.value].type.bytes();
    t.frequency = costed.problem.regions[t.region.index].frequency;
    t.seconds = t.frequency * costed.transfer_seconds(t.value, t.bytes, t.from, t.to);
    t.location = graph.producer(t.value).location;
    transfers.items.push_back(std::move(t));
  }
  std::sort(transfers.items.begin(), transfers.items.end(), [&](const Transfer& a, const Transfer& b) {
    return std::tuple(uses.exists_at(a.value, a.region), a.value, a.to, a.region) <
           std::tuple(uses.exists_at(b.value, b.region), b.value, b.to, b.region);
  });

  const Deliveries deliveries(graph, uses, placement, transfers.items);
  const std::vector<char> tainted = depends_on_accelerator(graph, uses, placement);
  const IdVector<RegionId, char> in_loop = regions_in_loops(graph);
  const std::vector<char> once = sent_once(graph, transfers.items, in_loop);
  const std::vector<char> into_outputs = merges_into_outputs(graph, uses, placement);
  const auto gives_output = [&](const ValueUse& use) {
    return use.kind == UseKind::output || (use.kind == UseKind::arm && into_outputs[use.node.index]);
  };
  std::vector<MarkedReadings> marked;  // by device
  for (std::size_t d = 0; d < placement.devices; ++d) marked.emplace_back(graph, uses, placement, DeviceId(d));
  for (std::size_t i = 0; i < transfers.items.size(); ++i) {
    Transfer& t = transfers.items[i];
    const auto served = deliveries.of(i);
    const NodeId producer = graph.values[t.value].producer;
    t.is_explicit = marked[t.to.index].all(t.value, served);
    if (in_loop[t.region]) continue;
    if (t.to != kHost) {
      const NodeKind kind = graph.nodes[producer].kind;
      const bool given = kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant;
      if (once[i] && (given || !tainted[producer.index])) t.kind = TransferKind::argument;
    } else if ((!served.empty() || placement.devices == 2) && std::all_of(served.begin(), served.end(), gives_output)) {
      t.kind = TransferKind::result;
    }
  }
  return transfers;
}

}  // namespace cleave::planner
