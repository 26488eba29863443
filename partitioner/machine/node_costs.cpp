#include "partitioner/machine/node_costs.h"

#include <algorithm>

namespace cleave::planner {
namespace {

OpWork work_of_node(const Graph& graph, const Node& node) {
  thread_local std::vector<TensorType> kept_inputs, kept_results;  // kept so that all nodes reuse their memory
  const auto types_of = [&graph](const std::vector<ValueId>& values, std::vector<TensorType>& kept) {
    if (kept.size() < values.size()) kept.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) kept[i] = graph.values[values[i]].type;
    return std::span<const TensorType>(kept).first(values.size());
  };
  OpWork work = work_of(*node.op, types_of(node.inputs, kept_inputs), types_of(node.results, kept_results), node.attributes);
  // A value that is an operand twice is read once. An operation without arithmetic is costed by the bytes that it moves, and it does move a
  // repeated operand twice.
  double again = 0;
  for (auto value = node.inputs.begin(); value != node.inputs.end(); ++value)
    if (std::find(node.inputs.begin(), value, *value) != value) again += static_cast<double>(graph.values[*value].type.bytes());
  if (again > 0 && work.cost.flops > 0) {
    if (node.op->elementwise()) work.traffic *= 1 - again / work.cost.bytes;
    work.cost.bytes -= again;
  }
  return work;
}

}  // namespace

NodeCosts::NodeCosts(const Graph& graph, const CostModel& model)
    : graph_(graph), model_(model), host_(model.machine.host, model.host_threads) {
  if (!model.profile.host_seconds.empty()) keys_.emplace(graph);
  if (!model.machine.host.points.empty()) reuse_.emplace(graph);
  if (!model.machine.accelerators.empty()) accelerator_.emplace(model.machine.accelerators[0]);
}

const OpWork& NodeCosts::work(NodeId id) const {
  if (last_ != id) last_work_ = work_of_node(graph_, graph_.nodes[id]);
  last_ = id;
  return last_work_;
}

/// The node's observed seconds on the host, if the profile has them.
std::optional<double> NodeCosts::observed_seconds(const Node& node) const {
  return keys_ ? keys_->find(model_.profile.host_seconds, node.location) : std::nullopt;
}

OpCost NodeCosts::host_cost(NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (const std::optional<double> observed = observed_seconds(node)) return {*observed, CostSource::observed};
  const HostFunction* function = node.host_function();
  if (function && function->seconds) return {*function->seconds, CostSource::given};
  OpCost cost = host_.cost(work(id));
  if (!reuse_ || cost.source == CostSource::by_rate) return cost;
  OpCosts::Operands operands;
  for (const Reuse::Operand& each : reuse_->of(id)) operands.emplace_back(each.bytes, each.distance);
  cost.seconds = host_.from_memory(cost.seconds, operands);
  return cost;
}

/// Seconds to round operands to bf16 before a product: each is read once and written in half the bytes. Constants are rounded before any
/// run.
double NodeCosts::rounding_seconds(const Node& node) const {
  if (model_.precision != Precision::bf16) return 0;
  double bytes = 0;
  for (auto value = node.inputs.begin(); value != node.inputs.end(); ++value)
    if (graph_.producer(*value).kind != NodeKind::constant && std::find(node.inputs.begin(), value, *value) == value)
      bytes += 1.5 * static_cast<double>(graph_.values[*value].type.bytes());
  return bytes / model_.machine.accelerators[0].bytes_per_second;
}

/// A product in less than f32 precision costs what the machine file says of that precision, else as much as in f32. An alias of a value is
/// free in an arena; on the host every array has memory of its own.
OpCost NodeCosts::accelerator_cost(NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (node.op->keeps_bytes) return {0, CostSource::none};
  const OpWork& work = this->work(id);
  if (model_.precision != Precision::f32 && model_.in_precision && model_.in_precision(graph_, id)) {
    const DeviceRates& rates = model_.machine.accelerators[0];
    const double before = rounding_seconds(node);
    if (const auto measured = accelerator_->by_key(*node.op, to_string(model_.precision), work))
      return {before + *measured, CostSource::measured};
    const double rate = rates.product_flops(model_.precision);
    if (rate != rates.product_flops(Precision::f32)) return {before + accelerator_->by_rate(work, rate), CostSource::by_rate};
  }
  return accelerator_->cost(work);
}

double NodeCosts::spare_seconds(NodeId id, DeviceId side, double seconds) const {
  const Node& node = graph_.nodes[id];
  if (side == kHost && observed_seconds(node)) return 0;
  return std::max(0.0, seconds - (side == kHost ? host_ : *accelerator_).computing_seconds(work(id)));
}

}  // namespace cleave::planner
