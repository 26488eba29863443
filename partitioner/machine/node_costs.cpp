#include "partitioner/machine/node_costs.h"

#include <algorithm>

#include "partitioner/machine/profile_position.h"

namespace cleave::planner {
namespace {

Cost work(const Graph& graph, const Node& node) {
  std::vector<TensorType> inputs, results;
  for (ValueId value : node.inputs) inputs.push_back(graph.values[value].type);
  for (ValueId value : node.results) results.push_back(graph.values[value].type);
  if (node.op->cost) return node.op->cost(inputs, results, node.attributes);
  Cost cost;
  for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : results) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

/// The element type that decides the rate: of the first floating operand, else of the first result, else of the first operand.
DType working_type(const Graph& graph, const Node& node) {
  for (ValueId value : node.inputs) {
    if (is_floating(graph.values[value].type.dtype)) return graph.values[value].type.dtype;
  }
  if (!node.results.empty()) return graph.values[node.results[0]].type.dtype;
  return node.inputs.empty() ? DType::f32 : graph.values[node.inputs[0]].type.dtype;
}

double by_rate(const Cost& cost, double rate, const DeviceRates& rates) {
  return rates.overhead_seconds + std::max(rate > 0 ? cost.flops / rate : 0, cost.bytes / rates.bytes_per_second);
}

/// By the table of the op and a type, where the machine has one.
std::optional<double> by_table(const Node& node, std::string_view type, const Cost& cost, const DeviceRates& rates) {
  if (rates.points.empty()) return std::nullopt;
  const auto table = rates.points.find(node.op->name + "/" + std::string(type));
  if (table == rates.points.end()) return std::nullopt;
  return seconds_at(table->second, cost.flops > 0 ? cost.flops : cost.bytes);
}

double seconds(const Graph& graph, const Node& node, const DeviceRates& rates) {
  const Cost cost = work(graph, node);
  const DType type = working_type(graph, node);
  if (const auto measured = by_table(node, to_string(type), cost, rates)) return *measured;
  return by_rate(cost, rates.flops[static_cast<std::size_t>(type)], rates);
}

}  // namespace

/// What the profile says it takes on the host.
std::optional<double> NodeCosts::observed_seconds(const Node& node) const {
  if (model_.profile.host_seconds.empty() || !node.location.known()) return std::nullopt;
  const auto observed = model_.profile.host_seconds.find(profile_position(node.location));
  return observed == model_.profile.host_seconds.end() ? std::nullopt : std::optional(observed->second);
}

double NodeCosts::host_seconds(NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (const std::optional<double> observed = observed_seconds(node)) return *observed;
  const HostFunction* function = node.host_function();
  if (function && function->seconds) return *function->seconds;
  return seconds(graph_, node, model_.machine.host);
}

/// A product that is computed in less than f32 takes what the machine says of that; where it says nothing, what f32 takes.
double NodeCosts::accelerator_seconds(NodeId id) const {
  const Node& node = graph_.nodes[id];
  const DeviceRates& rates = model_.machine.accelerators[0];
  if (model_.precision != Precision::f32 && model_.in_precision && model_.in_precision(graph_, id)) {
    const Cost cost = work(graph_, node);
    if (const auto measured = by_table(node, to_string(model_.precision), cost, rates)) return *measured;
    const double rate = rates.product_flops(model_.precision);
    if (rate != rates.product_flops(Precision::f32)) return by_rate(cost, rate, rates);
  }
  return seconds(graph_, node, rates);
}

double NodeCosts::spare_seconds(NodeId id, DeviceId side, double seconds) const {
  const Node& node = graph_.nodes[id];
  if (side == kHost && observed_seconds(node)) return 0;
  const DeviceRates& rates = side == kHost ? model_.machine.host : model_.machine.accelerators[0];
  const double rate = rates.flops[static_cast<std::size_t>(working_type(graph_, node))];
  const double computing = rate > 0 ? work(graph_, node).flops / rate : 0;
  return std::max(0.0, seconds - computing);
}

}  // namespace cleave::planner
