#include "partitioner/machine/sinking.h"

#include <algorithm>

#include "graph/kernel/fusible_op.h"
#include "graph/kernel/kernel_draft.h"
#include "graph/passes/hoist_invariant.h"
#include "graph/passes/renumber.h"
#include "partitioner/machine/node_costs.h"

namespace cleave::planner {
namespace {

RegionId common(const Graph& graph, RegionId a, RegionId b) {
  while (!graph.within(b, a)) a = graph.regions[a].parent;
  return a;
}

}  // namespace

class Sinkable::SinkableFinder {
 public:
  SinkableFinder(Sinkable& found, const Graph& graph, const ValueUses& uses, const IdVector<RegionId, double>& frequency)
      : found_(found), graph_(graph), uses_(uses), frequency_(frequency) {}

  void run() {
    const std::vector<NodeId> order = program_order(graph_).nodes;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {  // readers first
      if (!is_movable(graph_, *id) || graph_.nodes[*id].results.size() != 1) continue;
      const RegionId own = graph_.nodes[*id].region, readers = region_of_readers(*id);
      if (!readers.valid() || !runs_more_often(readers, own)) continue;
      found_.into_[*id] = readers;
      found_.any_ = true;
    }
    found_.least_bytes_.resize(graph_.nodes.size());
    for (const NodeId id : order)  // producers first
      if (sinks(id)) found_.least_bytes_[id] = least_bytes(id);
  }

 private:
  [[nodiscard]] bool sinks(NodeId id) const { return found_.into_[id].valid(); }

  /// The innermost region that contains all readers; none if anything but an operation reads the node, or nothing does.
  [[nodiscard]] RegionId region_of_readers(NodeId node) const {
    RegionId all;
    for (const ValueUse& use : uses_.of(graph_.nodes[node].results[0])) {
      if (use.kind != UseKind::operand) return {};
      const RegionId region = sinks(use.node) ? found_.into_[use.node] : graph_.nodes[use.node].region;
      all = all.valid() ? common(graph_, all, region) : region;
    }
    return all;
  }

  [[nodiscard]] bool runs_more_often(RegionId inner, RegionId outer) const {
    if (frequency_[inner] <= frequency_[outer]) return false;
    for (RegionId region = inner; region != outer; region = graph_.regions[region].parent)
      if (frequency_[region] < frequency_[outer]) return false;
    return true;
  }

  [[nodiscard]] bool is_read_by_another(ValueId value, NodeId reader) const {
    const auto uses = uses_.of(value);
    return std::any_of(uses.begin(), uses.end(), [&](const ValueUse& use) {
      if (!use.node.valid() || use.node == reader) return false;
      return sinks(use.node) || graph_.within(graph_.nodes[use.node].region, found_.into_[reader]);
    });
  }

  [[nodiscard]] double least_bytes(NodeId node) const {
    double sum = 0;
    const std::vector<ValueId>& inputs = graph_.nodes[node].inputs;
    for (auto input = inputs.begin(); input != inputs.end(); ++input) {
      if (std::find(inputs.begin(), input, *input) != input || is_read_by_another(*input, node)) continue;
      const auto bytes = static_cast<double>(graph_.values[*input].type.bytes());
      const NodeId maker = graph_.values[*input].producer;
      sum += sinks(maker) ? std::min(bytes, found_.least_bytes_[maker]) : bytes;
    }
    return sum;
  }

  Sinkable& found_;
  const Graph& graph_;
  const ValueUses& uses_;
  const IdVector<RegionId, double>& frequency_;
};

Sinkable::Sinkable(const Graph& graph, const ValueUses& uses, const IdVector<RegionId, double>& frequency) : Sinkable(graph) {
  if (graph.regions.size() > 1) SinkableFinder(*this, graph, uses, frequency).run();
}

namespace {

class Estimate {
 public:
  Estimate(const Graph& graph, const Sinkable& sinkable, const CostModel& model, const CostedProblem& costed, const Placement& placement)
      : graph_(graph),
        sinkable_(sinkable),
        model_(model),
        costed_(costed),
        placement_(placement),
        costs_(graph, model),
        uses_(count_uses(graph)),
        draft_(graph, uses_),
        sunk_(graph.nodes.size(), false) {}

  std::vector<Sinking> run(double least_seconds) {
    const std::vector<NodeId> order = program_order(graph_).nodes;
    std::vector<Sinking> found;
    double sum = 0;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {  // readers first
      const double seconds = sinkable_.into(*id).valid() ? saved(*id) : 0;
      if (seconds <= 0) continue;
      sum += seconds;
      sunk_[*id] = true;
      found.push_back({*id, sinkable_.into(*id)});
    }
    if (sum < least_seconds) return {};
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  [[nodiscard]] bool is_only_on(NodeId id, DeviceId side) const {
    return placement_.has_copy(id.index, side) && !placement_.has_copy(id.index, side == kHost ? kAccelerator : kHost);
  }
  [[nodiscard]] double spare(NodeId id, DeviceId side) const { return costs_.spare_seconds(id, side, seconds(id, side)); }
  [[nodiscard]] double seconds(NodeId id, DeviceId side) const {
    const PlacementProblem::Node& node = costed_.problem.nodes[id.index];
    return side == kHost ? node.host_seconds : node.accelerator_seconds;
  }
  /// The time that sinking saves: one execution outside plus each read inside, less computing it inside while its readers wait for memory.
  /// 0: it cannot be in one kernel with its readers.
  double saved(NodeId id) {
    const DeviceId side = placement_.has_copy(id.index, kHost) ? kHost : kAccelerator;
    const FusionRule& rule = side == kHost ? model_.host_fuses : model_.accelerator_fuses;
    if (!rule || !is_fusible(graph_, id, side) || !is_only_on(id, side)) return 0;
    const ValueId made = graph_.nodes[id].results[0];
    const RegionId into = sinkable_.into(id);
    double waiting = 0;
    bool fuses = false;
    for (const ValueUse& use : costed_.uses->of(made)) {
      const bool inside = sunk_[use.node] || graph_.within(graph_.nodes[use.node].region, into);
      if (!inside || !is_only_on(use.node, side)) return 0;
      fuses = fuses || (is_fusible(graph_, use.node, side) && draft_.is_taken_with(id, use.node, rule));
      waiting += spare(use.node, side);
    }
    if (!fuses) return 0;
    const DeviceRates& rates = side == kHost ? model_.machine.host : model_.machine.accelerators[0];
    const double often = costed_.frequency[into], once = costed_.frequency[graph_.nodes[id].region];
    const double reading = (static_cast<double>(graph_.values[made].type.bytes()) - sinkable_.least_bytes(id)) / rates.bytes_per_second;
    const double computing = std::max(0.0, seconds(id, side) - spare(id, side) - waiting);
    return once * seconds(id, side) + often * (reading - computing);
  }

  const Graph& graph_;
  const Sinkable& sinkable_;
  const CostModel& model_;
  const CostedProblem& costed_;
  const Placement& placement_;
  const NodeCosts costs_;
  const std::vector<int> uses_;
  KernelDraft draft_;
  IdVector<NodeId, char> sunk_;
};

}  // namespace

std::vector<Sinking> worth_sinking(const Graph& graph, const Sinkable& sinkable, const CostModel& model, const CostedProblem& costed,
                                   const Placement& placement, double least_seconds) {
  if (!sinkable.any()) return {};
  return Estimate(graph, sinkable, model, costed, placement).run(least_seconds);
}

}  // namespace cleave::planner
