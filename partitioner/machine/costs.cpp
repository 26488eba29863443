// Graph + Machine -> numbers, in one sweep over the nodes. Which nodes are scalar work is found first; everything else is local to a node.
#include "partitioner/machine/costs.h"

#include <algorithm>
#include <cstdio>

#include "partitioner/machine/fusion_savings.h"
#include "partitioner/machine/profile_position.h"

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;

constexpr double kMostPlanned = 1e100;  ///< executions a run, and seconds of one

/// For each node: scalars in, scalars out, and it follows from scalars alone (or decides control, for which the host needs it anyway). Such
/// work is cheap enough to be done on both sides whatever the policy.
class ScalarWork {
 public:
  ScalarWork(const Graph& graph, const ValueUses& uses) : graph_(graph), uses_(uses), scalar_(graph.nodes.size(), 1) {
    spread_from_tensors();
    follow_predicates_back();
  }
  [[nodiscard]] bool operator[](std::size_t node) const { return scalar_[node] != 0; }

 private:
  [[nodiscard]] bool touches_scalars_only(const Node& node) const {
    auto scalar = [&](ValueId value) { return graph_.values[value].type.scalar(); };
    return std::all_of(node.inputs.begin(), node.inputs.end(), scalar) && std::all_of(node.results.begin(), node.results.end(), scalar);
  }

  void spread_from_tensors() {
    std::vector<NodeId> pending;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (touches_scalars_only(graph_.nodes[NodeId(i)])) continue;
      scalar_[i] = 0;
      pending.emplace_back(i);
    }
    while (!pending.empty()) {
      const Node& tensor = graph_.nodes[pending.back()];
      pending.pop_back();
      for (const ValueId result : tensor.results) {
        for (const ValueUse& use : uses_.of(result)) {
          if (use.kind == UseKind::output || !scalar_[use.node.index]) continue;
          scalar_[use.node.index] = 0;
          pending.push_back(use.node);
        }
      }
    }
  }

  void follow_predicates_back() {
    std::vector<ValueId> wanted;
    for (const Region& region : graph_.regions) {
      if (region.predicate.valid()) wanted.push_back(region.predicate);
    }
    for (const Node& node : graph_.nodes) {
      if (is_control(node.kind)) wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
    }
    while (!wanted.empty()) {
      const NodeId producer = graph_.values[wanted.back()].producer;
      wanted.pop_back();
      const Node& node = graph_.nodes[producer];
      if (scalar_[producer.index] || node.kind != NodeKind::operation || !touches_scalars_only(node)) continue;
      scalar_[producer.index] = 1;
      wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
    }
  }

  const Graph& graph_;
  const ValueUses& uses_;
  std::vector<std::uint8_t> scalar_;
};

class ProblemMaker {
 public:
  ProblemMaker(const Graph& graph, const CostModel& model, std::shared_ptr<const ValueUses> uses, Diagnostics& diagnostics)
      : graph_(graph),
        model_(model),
        diagnostics_(diagnostics),
        all_on_host_(model.policy == Policy::host || !model.has_accelerator || model.machine.accelerators.empty()) {
    result_.uses = uses ? std::move(uses) : std::make_shared<const ValueUses>(graph);
  }

  CostedProblem make() {
    result_.frequency = region_frequencies(graph_);
    result_.forced.assign(graph_.nodes.size(), Cause::none);
    add_regions();
    const bool everything_scalar_too = !all_on_host_ && model_.policy == Policy::accelerator;
    if (everything_scalar_too) scalar_work_.emplace(graph_, *result_.uses);
    problem().nodes.resize(graph_.nodes.size() + 1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) add_node(NodeId(i));
    problem().nodes.back().pin = Pin::host;  // outputs and control
    add_values();
    add_uses();
    check_amounts();
    add_savings();
    return std::move(result_);
  }

 private:
  PlacementProblem& problem() { return result_.problem; }
  /// Expected trips and declared times may multiply to what no sum of costs holds.
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

  void add_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    PlacementProblem::Node& out = problem().nodes[id.index];
    out.region = static_cast<std::int32_t>(node.region.index);
    out.accelerator_bytes = bytes(node);
    switch (node.kind) {
      case NodeKind::operation: return add_operation(id, out);
      case NodeKind::counter:
      case NodeKind::carried:
      case NodeKind::merge: out.replicable = true; break;
      case NodeKind::constant:
        if (graph_.values[node.results[0]].type.elements() <= 1) {
          out.replicable = true;
          break;
        }
        [[fallthrough]];
      case NodeKind::input:
      case NodeKind::parameter: force(id, Cause::pinned); break;
      case NodeKind::for_loop:
      case NodeKind::while_loop:
      case NodeKind::branch: out.pin = Pin::host; break;  // driven by the host; no value of its own
    }
    if (all_on_host_) {
      out.pin = Pin::host;
      out.replicable = false;
    }
  }

  /// Of its results; a carried value and what its loop leaves behind share storage.
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

  void add_operation(NodeId id, PlacementProblem::Node& out) {
    const Node& node = graph_.nodes[id];
    const Purity purity = graph_.purity(id);
    const bool supported = purity != Purity::effect && !node.host_function() && (!model_.supported || model_.supported(graph_, id));
    out.host_seconds = host_seconds(node);
    if (!model_.machine.accelerators.empty()) out.accelerator_seconds = accelerator_seconds(id);
    out.replicable = purity == Purity::pure;
    const Side side = node.op->moves_to != Side::none ? node.op->moves_to : node.pin;
    if (node.pin == Side::accelerator && !supported && !all_on_host_) refuse_pin(id, purity);

    if (purity == Purity::effect) return force(id, Cause::effect);
    if (!supported && node.op->moves_to == Side::none) return force(id, Cause::no_kernel);
    if (side == Side::host) return force(id, Cause::pinned);
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

  [[nodiscard]] Cost work(const Node& node) const {
    std::vector<TensorType> inputs, results;
    for (ValueId value : node.inputs) inputs.push_back(graph_.values[value].type);
    for (ValueId value : node.results) results.push_back(graph_.values[value].type);
    if (node.op->cost) return node.op->cost(inputs, results, node.attributes);
    Cost cost;
    for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.bytes());
    for (const TensorType& type : results) cost.bytes += static_cast<double>(type.bytes());
    return cost;
  }

  /// The element type that decides the rate: of the first floating operand, else of the first result, else of the first operand.
  [[nodiscard]] DType working_type(const Node& node) const {
    for (ValueId value : node.inputs) {
      if (is_floating(graph_.values[value].type.dtype)) return graph_.values[value].type.dtype;
    }
    if (!node.results.empty()) return graph_.values[node.results[0]].type.dtype;
    return node.inputs.empty() ? DType::f32 : graph_.values[node.inputs[0]].type.dtype;
  }

  static double by_rate(const Cost& cost, double rate, const DeviceRates& rates) {
    return rates.overhead_seconds + std::max(rate > 0 ? cost.flops / rate : 0, cost.bytes / rates.bytes_per_second);
  }

  /// By the table of the op and a type, where the machine has one.
  static std::optional<double> by_table(const Node& node, std::string_view type, const Cost& cost, const DeviceRates& rates) {
    if (rates.points.empty()) return std::nullopt;
    const auto table = rates.points.find(node.op->name + "/" + std::string(type));
    if (table == rates.points.end()) return std::nullopt;
    return seconds_at(table->second, cost.flops > 0 ? cost.flops : cost.bytes);
  }

  [[nodiscard]] double seconds(const Node& node, const DeviceRates& rates) const {
    const Cost cost = work(node);
    const DType type = working_type(node);
    if (const auto measured = by_table(node, to_string(type), cost, rates)) return *measured;
    return by_rate(cost, rates.flops[static_cast<std::size_t>(type)], rates);
  }

  /// A product that is computed in less than f32 takes what the machine says of that; where it says nothing, what f32 takes.
  [[nodiscard]] double accelerator_seconds(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const DeviceRates& rates = model_.machine.accelerators[0];
    if (model_.precision != Precision::f32 && model_.in_precision && model_.in_precision(graph_, id)) {
      const Cost cost = work(node);
      if (const auto measured = by_table(node, to_string(model_.precision), cost, rates)) return *measured;
      const double rate = rates.product_flops(model_.precision);
      if (rate != rates.product_flops(Precision::f32)) return by_rate(cost, rate, rates);
    }
    return seconds(node, rates);
  }

  /// What the profile says it takes on the host.
  [[nodiscard]] std::optional<double> observed_seconds(const Node& node) const {
    if (model_.profile.host_seconds.empty() || !node.location.known()) return std::nullopt;
    const auto observed = model_.profile.host_seconds.find(profile_position(node.location));
    return observed == model_.profile.host_seconds.end() ? std::nullopt : std::optional(observed->second);
  }

  [[nodiscard]] double host_seconds(const Node& node) const {
    if (const std::optional<double> observed = observed_seconds(node)) return *observed;
    const HostFunction* function = node.host_function();
    if (function && function->seconds) return *function->seconds;
    return seconds(node, model_.machine.host);
  }

  void add_values() {
    const bool linked = !model_.machine.accelerators.empty();
    problem().values.reserve(graph_.values.size());
    for (const Value& value : graph_.values) {
      const auto bytes = static_cast<double>(value.type.bytes());
      problem().values.push_back({static_cast<std::int32_t>(value.producer.index), static_cast<std::int32_t>(value.region.index),
                                  linked ? model_.machine.link(kHost, kAccelerator).seconds(bytes) : 0,
                                  linked ? model_.machine.link(kAccelerator, kHost).seconds(bytes) : 0});
    }
  }

  /// What control and outputs read, the node `outside` reads.
  void add_uses() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      for (const ValueUse& use : result_.uses->of(ValueId(i))) {
        const std::int32_t reader = use.host_only() ? outside() : static_cast<std::int32_t>(use.node.index);
        problem().uses.push_back({static_cast<std::int32_t>(i), reader, static_cast<std::int32_t>(use.region.index)});
      }
    }
  }

  void add_savings() {
    result_.fusible.push_back(find_fusible(graph_, kHost, model_.host_fuses));
    const bool accelerator = !all_on_host_;
    result_.fusible.push_back(accelerator ? find_fusible(graph_, kAccelerator, model_.accelerator_fuses) : std::vector<FusibleGroup>());
    FusionSavings savings(graph_);
    for (const DeviceId side : {kHost, kAccelerator}) {
      if (result_.fusible[side].empty()) continue;
      const DeviceRates& rates = side == kHost ? model_.machine.host : model_.machine.accelerators[0];
      savings.add(side, result_.fusible[side], rates, [&](NodeId id) { return spare_seconds(id, side, rates); });
    }
    problem().savings = savings.take();
  }

  /// What of a node's seconds is no computing: starting the kernel and waiting for memory. Nothing where they were observed, as part of
  /// whatever it ran in.
  [[nodiscard]] double spare_seconds(NodeId id, DeviceId side, const DeviceRates& rates) const {
    const Node& node = graph_.nodes[id];
    const PlacementProblem::Node& cost = result_.problem.nodes[id.index];
    if (side == kHost && observed_seconds(node)) return 0;
    const double rate = rates.flops[static_cast<std::size_t>(working_type(node))];
    const double computing = rate > 0 ? work(node).flops / rate : 0;
    return std::max(0.0, (side == kHost ? cost.host_seconds : cost.accelerator_seconds) - computing);
  }

  const Graph& graph_;
  const CostModel& model_;
  Diagnostics& diagnostics_;
  const bool all_on_host_;
  std::optional<ScalarWork> scalar_work_;
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

CostedProblem make_problem(const Graph& graph, const CostModel& model, Diagnostics& diagnostics, std::shared_ptr<const ValueUses> uses) {
  return ProblemMaker(graph, model, std::move(uses), diagnostics).make();
}

}  // namespace cleave::planner
