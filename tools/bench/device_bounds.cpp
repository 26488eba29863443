#include "tools/bench/device_bounds.h"

#include <algorithm>
#include <set>
#include <vector>

#include "partitioner/apply/fused_kernels.h"

namespace cleave::bench {

using namespace planner;
namespace {

constexpr std::int64_t kCached = 64 << 20;  ///< bytes: smaller arrays may stay in the second-level cache between kernels

/// Bytes of the arrays that a kernel reads or writes in memory.
double traffic(const Graph& graph, const std::vector<NodeId>& kernel) {
  const std::set<NodeId> inside(kernel.begin(), kernel.end());
  std::set<ValueId> touched;
  for (const NodeId id : kernel) {
    for (const ValueId input : graph.nodes[id].inputs)
      if (!inside.contains(graph.values[input].producer)) touched.insert(input);
    if (id == kernel.back()) touched.insert(graph.nodes[id].results.begin(), graph.nodes[id].results.end());
  }
  double bytes = 0;
  for (const ValueId value : touched)
    if (const std::int64_t size = graph.values[value].type.bytes(); size >= kCached) bytes += static_cast<double>(size);
  return bytes;
}

/// Peak operations per second of a kernel on elements of this type.
double peak(const Plan& plan, const OpDef& op, DType type) {
  const DeviceRates& rates = plan.machine.accelerators.front();
  const double rate = rates.flops[static_cast<std::size_t>(type)];
  return op.cost_class == CostClass::product && type == DType::f32 ? std::max(rate, rates.product_flops(plan.precision)) : rate;
}

}  // namespace

double DeviceBounds::seconds() const {
  return std::max({link_seconds, compute_seconds, memory_seconds});
}

DeviceBounds find_bounds(const Plan& plan) {
  DeviceBounds bounds;
  for (const Transfer& transfer : plan.transfers.items) {
    double& bytes = transfer.to == kHost ? bounds.link_bytes_to_host : bounds.link_bytes_to_accelerator;
    bytes += static_cast<double>(transfer.bytes) * transfer.frequency;
  }
  const Graph& graph = *plan.graph;
  std::vector<std::vector<NodeId>> kernels;
  std::set<NodeId> fused;
  for (const FusedKernel& kernel : fused_kernels(plan.program, plan.costed, plan.placement)) {
    if (kernel.device == kHost) continue;
    kernels.push_back(kernel.nodes);
    fused.insert(kernel.nodes.begin(), kernel.nodes.end());
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::operation || !plan.placement.on_accelerator[i]) continue;
    if (!fused.contains(id)) kernels.push_back({id});
    std::vector<TensorType> inputs, results;
    for (const ValueId value : node.inputs) inputs.push_back(graph.values[value].type);
    for (const ValueId value : node.results) results.push_back(graph.values[value].type);
    const double flops = node.op->cost(inputs, results, node.attributes).flops * plan.costed.frequency[node.region];
    DeviceBounds::Family& family = bounds.families[node.op->cost_class];
    bounds.flops += flops;
    family.flops += flops;
    if (inputs.empty() || plan.machine.accelerators.empty()) continue;
    const double seconds = flops / peak(plan, *node.op, inputs[0].dtype);
    bounds.compute_seconds += seconds;
    family.compute_seconds += seconds;
  }
  for (const std::vector<NodeId>& kernel : kernels) {
    const Node& last = graph.nodes[kernel.back()];
    const double bytes = traffic(graph, kernel) * plan.costed.frequency[last.region];
    bounds.memory_bytes += bytes;
    bounds.families[last.op->cost_class].memory_bytes += bytes;
  }
  if (plan.machine.accelerators.empty()) return bounds;
  const DeviceRates& rates = plan.machine.accelerators.front();
  // Both directions are concurrent.
  bounds.link_seconds = std::max(bounds.link_bytes_to_accelerator / rates.host_to_accelerator.bytes_per_second,
                                 bounds.link_bytes_to_host / rates.accelerator_to_host.bytes_per_second);
  bounds.memory_seconds = bounds.memory_bytes / rates.bytes_per_second;
  for (auto& [of, family] : bounds.families) family.memory_seconds = family.memory_bytes / rates.bytes_per_second;
  return bounds;
}

}  // namespace cleave::bench
