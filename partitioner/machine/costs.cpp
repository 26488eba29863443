// make_problem(): turns Graph and Machine into numbers in one pass over the nodes. Scalar work is found first; everything else is local to
// a node. node_costs.h computes the costs of nodes.
#include "partitioner/machine/costs.h"

#include <algorithm>
#include <cstdio>

#include "graph/passes/dataflow.h"
#include "graph/states.h"
#include "partitioner/machine/control_costs.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/fusion_savings.h"
#include "partitioner/machine/node_costs.h"
#include "partitioner/machine/optimistic_fusion.h"
#include "partitioner/machine/pins.h"
#include "partitioner/machine/placed_fusion.h"
#include "partitioner/machine/scalar_work.h"

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;

constexpr double kMostPlanned = 1e100;  ///< limit on executions per run, and on seconds of one execution

class ProblemMaker {
 public:
  ProblemMaker(const Graph& graph, const CostModel& model, Diagnostics& diagnostics)
      : graph_(graph),
        model_(model),
        costs_(graph, model),
        diagnostics_(diagnostics),
        has_accelerator_(model.has_accelerator && !model.machine.accelerators.empty()),
        all_on_host_(model.policy == Policy::host || !has_accelerator_),
        device_loops_(has_accelerator_ && model.machine.accelerators[0].control_flow == "device_loops") {}

  /// `groups`: those that are known already; null: they are searched for.
  CostedProblem make(FusibleGroups* groups = nullptr) {
    result_.uses = std::make_shared<const ValueUses>(graph_);
    result_.host_threads = model_.host_threads;
    result_.workers = model_.workers;
    result_.frequency = region_frequencies(graph_);
    result_.sources.resize(graph_.nodes.size());
    add_regions();
    problem().nodes.resize(graph_.nodes.size() + 1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_costs(NodeId(i));
    add_values();
    add_uses();
    tie_states();
    problem().nodes.back().host_seconds = model_.machine.host.run_seconds;
    check_amounts();
    if (groups)
      result_.fusible = std::move(*groups);
    else
      find_groups();
    add_savings();
    decide_sides();
    return std::move(result_);
  }

  CostedProblem make(const CostedProblem& same_costs, FusibleGroups groups) {
    result_ = same_costs;
    result_.fusible = std::move(groups);
    add_savings();
    return std::move(result_);
  }

  PlacementProblem make_optimistic(const CostedProblem& same_costs, const Dataflow& dataflow, const Sinkable& sinkable) {
    PlacementProblem optimistic = same_costs.problem;
    optimistic.names.clear();
    result_.problem = same_costs.problem;
    std::vector<SideOfFusion> sides{{kHost, model_.host_fuses, model_.machine.host, seconds_on(kHost)}};
    if (has_accelerator_)
      sides.push_back({kAccelerator, model_.accelerator_fuses, model_.machine.accelerators[0], seconds_on(kAccelerator)});
    save_at_most(optimistic, graph_, dataflow, sinkable, sides);
    return optimistic;
  }

  CostedProblem make(const CostedProblem& same_costs, std::span<const NodeId> freed = {}) {
    result_ = same_costs;
    if (!freed.empty()) freed_.assign(graph_.nodes.size(), 0);
    for (const NodeId id : freed) freed_[id.index] = 1;
    decide_sides();
    return std::move(result_);
  }

 private:
  /// Decides what depends on pins and policy alone.
  void decide_sides() {
    result_.forced.assign(graph_.nodes.size(), Cause::none);
    const bool everything_scalar_too = !all_on_host_ && model_.policy == Policy::accelerator;
    if (everything_scalar_too) scalar_work_.emplace(graph_, *result_.uses);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) decide_side(NodeId(i));
    problem().nodes.back().pin = Pin::host;  // outputs and control
  }

  PlacementProblem& problem() { return result_.problem; }
  /// Reports products of expected trip counts and declared times that are too large for sums of costs.
  void check_amounts() {
    const auto refuse = [&](NodeId id, const std::string& what) {
      diagnostics_.error(DiagnosticKind::value, graph_.nodes[id].location, what + "; what can be planned ends at 1e100");
    };
    const auto number = [](double value) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3g", value);
      return std::string(text);
    };
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) {
      const double frequency = result_.frequency[RegionId(i)];
      if (frequency <= kMostPlanned) continue;
      return refuse(graph_.regions[RegionId(i)].owner,
                    "by what is expected here and around, this runs " + number(frequency) + " times a run");
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const double seconds = std::max(problem().nodes[i].host_seconds, problem().nodes[i].accelerator_seconds);
      if (seconds <= kMostPlanned) continue;
      return refuse(NodeId(i), "`" + graph_.display_name(NodeId(i)) + "` is said to take " + number(seconds) + " s");
    }
  }

  [[nodiscard]] std::int32_t outside() const { return static_cast<std::int32_t>(graph_.nodes.size()); }

  void add_regions() {
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) {
      const RegionId parent = graph_.regions[RegionId(i)].parent;
      problem().regions.push_back(
          {parent.valid() ? static_cast<std::int32_t>(parent.index) : PlacementProblem::kNoParent, result_.frequency[RegionId(i)]});
    }
  }

  void add_costs(NodeId id) {
    const Node& node = graph_.nodes[id];
    PlacementProblem::Node& out = problem().nodes[id.index];
    out.region = static_cast<std::int32_t>(node.region.index);
    out.accelerator_bytes = bytes(node);
    if (is_control(node.kind)) {
      const double trips = node.kind == NodeKind::branch ? 1 : std::max(0.0, node.expected);
      out.host_seconds = model_.machine.host.trip_seconds * trips;
      if (device_loops_) {  // then control is placed by cost, and the host needs at least the overhead of one step for it
        out.host_seconds = std::max(model_.machine.host.trip_seconds, model_.machine.host.overhead_seconds) * trips;
        out.accelerator_seconds = model_.machine.accelerators[0].trip_seconds * trips;
      }
    }
    if (node.kind != NodeKind::operation) return;
    CostSources& sources = result_.sources[id];
    const OpCost host = costs_.host_cost(id);
    out.host_seconds = host.seconds;
    sources.host = host.source;
    if (model_.machine.accelerators.empty()) return;
    const OpCost accelerator = costs_.accelerator_cost(id);
    out.accelerator_seconds = accelerator.seconds;
    sources.accelerator = accelerator.source;
  }

  void decide_side(NodeId id) {
    const Node& node = graph_.nodes[id];
    PlacementProblem::Node& out = problem().nodes[id.index];
    out.pin = Pin::none;
    out.replicable = out.keep_accelerator_copy = false;
    switch (node.kind) {
      case NodeKind::operation: return decide_operation(id, out);
      case NodeKind::counter:
      case NodeKind::carried:
      case NodeKind::merge:
      case NodeKind::constant: out.replicable = true; break;  // constants stay on each device that reads them, across runs
      case NodeKind::input:
      case NodeKind::parameter:
        if (out.group == PlacementProblem::kNoGroup) return force(id, Cause::pinned);
        out.replicable = true;  // a state is on each side that computes its next value
        break;
      case NodeKind::for_loop:
      case NodeKind::while_loop:
      case NodeKind::branch:  // it has no value; its side is where its control flow is decided
        if (!device_loops_) out.pin = Pin::host;
        out.replicable = device_loops_;
        break;
    }
    if (all_on_host_) {
      out.pin = Pin::host;
      out.replicable = false;
    }
  }

  /// Bytes of a node's results; a carried value and its loop's result share storage.
  [[nodiscard]] double bytes(const Node& node) const {
    double sum = 0;
    for (const ValueId value : node.results) {
      if (node.kind != NodeKind::carried || value == node.results[0]) sum += static_cast<double>(graph_.values[value].type.bytes());
    }
    return sum;
  }

  void force(NodeId id, Cause cause) {
    result_.forced[id.index] = cause;
    problem().nodes[id.index].pin = Pin::host;
    problem().nodes[id.index].replicable = false;
  }

  void decide_operation(NodeId id, PlacementProblem::Node& out) {
    const Node& node = graph_.nodes[id];
    const Purity purity = graph_.purity(id);
    const bool freed = !freed_.empty() && freed_[id.index];
    const bool supported =
        purity != Purity::effect && (freed || (!node.host_function() && (!model_.supported || model_.supported(graph_, id))));
    out.replicable = purity == Purity::pure;
    const Side side = freed && node.op->moves_to == Side::none ? Side::none : wanted_side(node);
    if (node.pin.side == Side::accelerator && !supported && !all_on_host_) refuse_pin(id, purity);

    if (purity == Purity::effect) return force(id, Cause::effect);
    if (!supported && node.op->moves_to == Side::none) return force(id, Cause::no_kernel);
    if (side == Side::host) return force(id, node.pin.for_want_of_kernel ? Cause::no_kernel : Cause::pinned);
    if (all_on_host_) {
      out.pin = Pin::host;
      out.replicable = false;
    } else if (side == Side::accelerator) {
      out.pin = Pin::accelerator;
      out.replicable = false;
    } else if (model_.policy == Policy::accelerator) {
      out.keep_accelerator_copy = true;
      out.replicable = out.replicable && (*scalar_work_)[id.index];
    }
  }

  void refuse_pin(NodeId id, Purity purity) {
    const std::string name = graph_.display_name(id);
    diagnostics_.error(DiagnosticKind::placement, graph_.nodes[id].location,
                       purity == Purity::effect
                           ? "`" + name + "` is pinned to the accelerator, but has an effect, which only the host can have"
                           : "`" + name + "` is pinned to the accelerator, which has no kernel for it");
  }

  void add_values() {
    const bool linked = !model_.machine.accelerators.empty();
    if (linked) {
      result_.to_accelerator = model_.machine.link(kHost, kAccelerator);
      result_.to_host = model_.machine.link(kAccelerator, kHost);
      result_.start_seconds = model_.machine.accelerators[0].overhead_seconds;
    }
    problem().values.reserve(graph_.values.size());
    for (const Value& value : graph_.values) {
      const auto bytes = static_cast<double>(value.type.bytes());
      problem().values.push_back({static_cast<std::int32_t>(value.producer.index), static_cast<std::int32_t>(value.region.index),
                                  linked ? result_.to_accelerator.seconds(bytes) : 0, linked ? result_.to_host.seconds(bytes) : 0});
    }
  }

  /// Adds all uses. Outputs, and predicates and counts that the host reads, are used by the node `outside`.
  void add_uses() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      for (const ValueUse& use : result_.uses->of(ValueId(i))) {
        const bool outside_reads = use.host_only() || (use.decides() && !device_loops_);
        const std::int32_t reader = outside_reads ? outside() : static_cast<std::int32_t>(use.node.index);
        problem().uses.push_back({static_cast<std::int32_t>(i), reader, static_cast<std::int32_t>(use.region.index)});
      }
    }
    if (device_loops_) add_control(graph_, problem());
  }

  /// Groups each state with the producer of its next value: that needs no transfer, and no other side costs less unless the next value goes
  /// there anyway (docs/placement.md). A producer of several next values groups all of their states. A state that never changes is a group
  /// by itself.
  void tie_states() {
    for (const GraphState& state : states_of(graph_)) {
      if (!state.follows) continue;
      const auto maker = static_cast<std::int32_t>(graph_.values[state.next].producer.index);
      problem().nodes[state.leaf.index].group = problem().nodes[static_cast<std::size_t>(maker)].group = maker;
    }
  }

  void find_groups() {
    const Dataflow dataflow(graph_);
    result_.fusible.push_back(find_fusible(graph_, dataflow, kHost, model_.host_fuses));
    result_.fusible.push_back(has_accelerator_ ? find_fusible(graph_, dataflow, kAccelerator, model_.accelerator_fuses)
                                               : std::vector<FusibleGroup>());
  }

  void add_savings() {
    FusionSavings savings(graph_);
    for (const DeviceId side : {kHost, kAccelerator}) {
      if (result_.fusible[side].empty()) continue;
      const DeviceRates& rates = side == kHost ? model_.machine.host : model_.machine.accelerators[0];
      savings.add(side, result_.fusible[side], rates, seconds_on(side));
    }
    problem().savings = savings.take();
  }
  [[nodiscard]] FusionSavings::SecondsOf seconds_on(DeviceId side) {
    return [this, side](NodeId id) {
      const PlacementProblem::Node& cost = problem().nodes[id.index];
      const double all = side == kHost ? cost.host_seconds : cost.accelerator_seconds;
      const double spare = costs_.spare_seconds(id, side, all);
      return FusionSavings::Seconds{costs_.observed(id, side) ? 0 : all - spare, spare};
    };
  }

  const Graph& graph_;
  const CostModel& model_;
  const NodeCosts costs_;
  Diagnostics& diagnostics_;
  const bool has_accelerator_, all_on_host_;
  const bool device_loops_;  ///< the accelerator can decide loops and branches by itself
  std::optional<ScalarWork> scalar_work_;
  std::vector<std::uint8_t> freed_;  ///< by node; empty: none
  CostedProblem result_;
};

}  // namespace

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::none: break;
    case Cause::cheaper: return "cheaper";
    case Cause::pinned: return "pinned";
    case Cause::no_kernel: return "no-kernel";
    case Cause::effect: return "effect";
    case Cause::memory: return "memory";
  }
  return "none";
}

CostedProblem make_problem(const Graph& graph, const CostModel& model, Diagnostics& diagnostics) {
  return ProblemMaker(graph, model, diagnostics).make();
}

CostedProblem make_problem(const Graph& graph, const CostModel& model, FusibleGroups groups, Diagnostics& diagnostics) {
  return ProblemMaker(graph, model, diagnostics).make(&groups);
}

CostedProblem under_policy(const Graph& graph, const CostModel& model, const CostedProblem& costed, Diagnostics& diagnostics) {
  return ProblemMaker(graph, model, diagnostics).make(costed);
}

CostedProblem with_groups(const Graph& graph, const CostModel& model, const CostedProblem& costed, FusibleGroups groups) {
  Diagnostics none;
  return ProblemMaker(graph, model, none).make(costed, std::move(groups));
}

PlacementProblem with_optimistic_fusion(const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable, const CostModel& model,
                                        const CostedProblem& costed) {
  Diagnostics none;
  return ProblemMaker(graph, model, none).make_optimistic(costed, dataflow, sinkable);
}

const LinkDirection& CostedProblem::link(DeviceId from, DeviceId to) const {
  if (several) return several->machine.link(from, to);
  return to == kHost ? to_host : to_accelerator;
}

double CostedProblem::transfer_seconds(ValueId value, std::int64_t bytes, DeviceId from, DeviceId to) const {
  return several ? link(from, to).seconds(static_cast<double>(bytes)) : problem.values[value.index].seconds(from, to);
}

CostedProblem for_all_accelerators(const Graph& graph, const CostModel& model, CostedProblem costed, Diagnostics& diagnostics) {
  SeveralAccelerators several{model.machine, std::vector<std::vector<double>>(model.machine.accelerators.size())};
  for (std::size_t a = 1; a < several.seconds.size(); ++a) {
    CostModel other = model;
    other.machine.accelerators.assign(1, model.machine.accelerators[a]);
    const CostedProblem problem = ProblemMaker(graph, other, diagnostics).make();
    std::vector<double> seconds;
    for (const PlacementProblem::Node& node : problem.problem.nodes) seconds.push_back(node.accelerator_seconds);
    const auto same = [](double own, const PlacementProblem::Node& first) { return own == first.accelerator_seconds; };
    if (!std::equal(seconds.begin(), seconds.end(), costed.problem.nodes.begin(), same)) several.seconds[a] = std::move(seconds);
  }
  costed.several = std::make_shared<const SeveralAccelerators>(std::move(several));
  return costed;
}

CostedProblem as_if_free(const Graph& graph, const CostModel& model, const CostedProblem& costed, std::span<const NodeId> nodes) {
  Diagnostics none;  // pins were valid before and still are
  return ProblemMaker(graph, model, none).make(costed, nodes);
}

}  // namespace cleave::planner
