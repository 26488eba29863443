// A topological order: each node waits for its predecessors, and each operation of a kernel for the predecessors of all its operations. Of
// the nodes that are ready, the first in the program comes next.
#include "partitioner/apply/kernel_rows.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "graph/host_function.h"
#include "graph/passes/dataflow.h"

namespace cleave::planner {
namespace {

/// The operations of a kernel without the pulled ones, which keep their positions.
std::span<const NodeId> row_of(const FusibleGroup& kernel) {
  return std::span(kernel.nodes).subspan(kernel.pulled);
}

bool contains(std::span<const NodeId> nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// Whether all operands of a kernel exist at the position of its first operation. Constants do not count, since they can be moved to the
/// front.
bool finds_all(const Graph& graph, const ValueUses& uses, const FusibleGroup& kernel) {
  const std::span<const NodeId> row = row_of(kernel);
  const std::int32_t place = uses.position(first_of(kernel, uses));
  const RegionId region = graph.nodes[row.front()].region;
  for (const NodeId node : row) {
    for (const ValueId input : graph.nodes[node].inputs) {
      const NodeId maker = graph.values[input].producer;
      if (graph.nodes[maker].kind != NodeKind::constant && uses.exists_from(input, region) > place && !contains(row, maker)) return false;
    }
  }
  return true;
}

/// Orders the nodes of one region.
class RegionOrder {
 public:
  RegionOrder(const Graph& graph, const ValueUses& uses, const Dataflow& dataflow, RegionId region,
              const std::vector<const FusibleGroup*>& kernels)
      : graph_(graph), uses_(uses), nodes_(graph.regions[region].nodes), waits_(nodes_.size() + kernels.size(), 0), after_(waits_.size()) {
    for (const NodeId node : nodes_) {
      if (graph.nodes[node].kind == NodeKind::merge) continue;  // it follows its branch
      for (const NodeId maker : dataflow.before(node)) add(unit_of(maker), unit_of(node));
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) {  // an additional unit for each kernel, on which all its operations wait
      const std::span<const NodeId> row = row_of(*kernels[k]);
      for (const NodeId node : row) {
        add(nodes_.size() + k, unit_of(node));
        for (const NodeId maker : dataflow.before(node))
          if (!contains(row, maker)) add(unit_of(maker), nodes_.size() + k);
      }
    }
  }

  /// Empty if there is a cycle.
  std::optional<std::vector<NodeId>> run() {
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    std::vector<NodeId> order;
    const auto begun = [&](std::size_t kernel) {  // all its operands exist
      for (const std::size_t next : after_[kernel])
        if (--waits_[next] == 0) ready.push(next);
    };
    std::vector<std::size_t> free;
    for (std::size_t unit = 0; unit < waits_.size(); ++unit)
      if (waits_[unit] == 0 && !is_merge(unit)) free.push_back(unit);
    for (const std::size_t unit : free) unit < nodes_.size() ? ready.push(unit) : begun(unit);
    while (!ready.empty()) {
      const std::size_t unit = ready.top();
      ready.pop();
      order.push_back(nodes_[unit]);
      for (std::size_t merge = unit + 1; is_merge(merge) && graph_.nodes[nodes_[merge]].owner == nodes_[unit]; ++merge)
        order.push_back(nodes_[merge]);
      for (const std::size_t next : after_[unit]) {
        if (--waits_[next] > 0) continue;
        next < nodes_.size() ? ready.push(next) : begun(next);
      }
    }
    return order.size() == nodes_.size() ? std::optional(std::move(order)) : std::nullopt;
  }

 private:
  [[nodiscard]] bool is_merge(std::size_t unit) const { return unit < nodes_.size() && graph_.nodes[nodes_[unit]].kind == NodeKind::merge; }
  [[nodiscard]] std::size_t unit_of(NodeId node) const {
    return static_cast<std::size_t>(uses_.position(graph_.nodes[node].kind == NodeKind::merge ? graph_.nodes[node].owner : node));
  }
  void add(std::size_t first, std::size_t then) {
    after_[first].push_back(then);
    ++waits_[then];
  }

  const Graph& graph_;
  const ValueUses& uses_;
  const std::vector<NodeId>& nodes_;
  std::vector<std::size_t> waits_;               ///< by node, then by kernel: the number of predecessors left
  std::vector<std::vector<std::size_t>> after_;  ///< by node, then by kernel: the units that wait for it
};

/// How many host calls that overlap other steps each node waits for, and by which call it is needed.
class CallChains {
 public:
  CallChains(const Graph& graph, int workers) : waits_for_(graph.nodes.size(), 0), needed_at_(graph.nodes.size(), kNever) {
    const Dataflow dataflow(graph);
    const auto is_call = [&](NodeId node) {
      const HostFunction* function = graph.nodes[node].host_function();
      return function && function->beside(workers) != HostFunction::Beside::never;
    };
    for (std::size_t r = 0; r < graph.regions.size(); ++r) {
      const std::vector<NodeId>& order = dataflow.order(RegionId(r));
      for (const NodeId node : order)
        for (const NodeId maker : dataflow.before(node))
          waits_for_[node] = std::max(waits_for_[node], waits_for_[maker] + (is_call(maker) ? 1 : 0));
      for (std::size_t i = order.size(); i-- > 0;)
        for (const NodeId maker : dataflow.before(order[i]))
          needed_at_[maker] = std::min(needed_at_[maker], is_call(order[i]) ? waits_for_[order[i]] : needed_at_[order[i]]);
    }
  }

  /// The length of the longest chain of calls in its region that a node waits for.
  [[nodiscard]] int waits_for(NodeId node) const { return waits_for_[node]; }
  /// If a kernel delays a call that could begin earlier, the length of the chain of calls that this call itself waits for.
  [[nodiscard]] std::optional<int> keeps(const FusibleGroup& kernel) const {
    int needed = kNever, waits = 0;
    for (const NodeId node : row_of(kernel)) {
      needed = std::min(needed, needed_at_[node]);
      waits = std::max(waits, waits_for_[node]);
    }
    return waits > needed ? std::optional(needed) : std::nullopt;
  }

 private:
  static constexpr int kNever = std::numeric_limits<int>::max();
  IdVector<NodeId, int> waits_for_;
  IdVector<NodeId, int> needed_at_;  ///< the shortest chain of calls before a call that needs the node; kNever: no call does
};

}  // namespace

FusibleGroups kernels_of(const FusibleGroups& groups, const Placement& placement) {
  FusibleGroups kernels(groups.size() == 0 ? 0 : placement.devices);
  for (std::size_t d = 0; d < kernels.size(); ++d) {
    const DeviceId device{d};
    for (const FusibleGroup& group : groups[device == kHost ? kHost : kAccelerator])
      for (FusibleGroup& part : parts_of(group, [&](NodeId node) { return placement.has_copy(node.index, device); }))
        kernels[device].push_back(std::move(part));
  }
  return kernels;
}

NodeId first_of(const FusibleGroup& kernel, const ValueUses& uses) {
  NodeId first;
  for (std::size_t i = kernel.pulled; i < kernel.nodes.size(); ++i) {
    if (kernel.waits(i)) continue;
    if (!first || uses.position(kernel.nodes[i]) < uses.position(first)) first = kernel.nodes[i];
  }
  return first;
}

void part_at_calls(const Graph& graph, int workers, FusibleGroups& kernels) {
  const CallChains chains(graph, workers);
  for (std::vector<FusibleGroup>& side : kernels) {
    for (std::size_t k = 0; k < side.size(); ++k) {  // parts are appended and checked in turn
      const std::optional<int> kept = chains.keeps(side[k]);
      if (!kept) continue;
      const FusibleGroup kernel = std::exchange(side[k], {});
      for (const bool sooner : {true, false})
        for (FusibleGroup& part : parts_of(kernel, [&](NodeId node) { return (chains.waits_for(node) <= *kept) == sooner; }))
          side.push_back(std::move(part));
    }
    std::erase_if(side, [](const FusibleGroup& kernel) { return kernel.nodes.empty(); });
  }
}

std::optional<ValueUses> order_for(const Graph& graph, const ValueUses& uses, FusibleGroups& kernels) {
  IdVector<RegionId, std::vector<const FusibleGroup*>> rows(graph.regions.size());
  IdVector<RegionId, char> disordered(graph.regions.size(), 0);
  bool any = false;
  for (const std::vector<FusibleGroup>& side : kernels) {
    for (const FusibleGroup& kernel : side) {
      const RegionId region = graph.nodes[kernel.nodes.back()].region;
      rows[region].push_back(&kernel);
      if (finds_all(graph, uses, kernel)) continue;
      disordered[region] = 1;
      any = true;
    }
  }
  if (!any) return std::nullopt;
  const Dataflow dataflow(graph);
  IdVector<RegionId, std::vector<NodeId>> order;
  std::vector<const FusibleGroup*> given_up;
  for (std::size_t r = 0; r < graph.regions.size(); ++r) {
    const RegionId region(r);
    std::optional<std::vector<NodeId>> found = graph.regions[region].nodes;
    if (disordered[region]) {
      while (!(found = RegionOrder(graph, uses, dataflow, region, rows[region]).run())) {
        given_up.push_back(rows[region].back());
        rows[region].pop_back();
      }
    }
    order.push_back(*std::move(found));
  }
  for (std::vector<FusibleGroup>& side : kernels)
    std::erase_if(side, [&](const FusibleGroup& kernel) { return std::find(given_up.begin(), given_up.end(), &kernel) != given_up.end(); });
  return ValueUses(graph, std::move(order));
}

}  // namespace cleave::planner
