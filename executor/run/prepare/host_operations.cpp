#include "executor/run/prepare/host_operations.h"

#include <utility>

namespace cleave::runtime {
namespace {

void prepare_operation(const Prepared& prepared, const SlotUses& slots, NodeId id, HostOperations& operations) {
  HostOperation& operation = operations.of[id];
  operation.kernel = prepare_host_kernel(host_request(prepared, id));
  operation.attributes = &prepared.attributes(id);
  operation.first_view = static_cast<std::uint32_t>(operations.views.size());
  operation.calls_user = prepared.graph().nodes[id].host_function() != nullptr;
  if (runs_beside(*prepared.program, id)) operation.beside = beside(*prepared.program, id);
  for (const auto* values : {&operations.reads(id), &operations.writes(id)}) {
    for (const ValueId value : *values) {
      operations.views.push_back({&prepared.graph().values[value].type, nullptr});
      operation.moves |= slots.moving_storages[static_cast<std::size_t>(prepared.plans[kHost].storage_of[value])] != 0;
    }
  }
}

/// Finds the operations that overlap with transfers, and prepares kernels with pieces for those whose fastest kernel has none.
void prepare_overlaps(const Prepared& prepared, HostOperations& operations) {
  const std::function<PlacedKernel(NodeId)> kernel_of = [&](NodeId id) {
    const HostKernel* kernel = operations.of[id].kernel.get();
    return kernel ? PlacedKernel{kernel, &operations.reads(id), &operations.writes(id)} : PlacedKernel();
  };
  operations.overlaps = find_overlaps(prepared, kernel_of);
  for (std::size_t i = 0; i < operations.overlaps.size(); ++i) {
    const NodeId id(i);
    Overlap& overlap = operations.overlaps[id];
    if (overlap.coming.empty() && overlap.leaving.empty()) continue;
    PlacedKernel placed = kernel_of(id);
    std::unique_ptr<HostKernel> other = placed.kernel->pieces() > 1 ? nullptr : prepare_in_pieces(host_request(prepared, id));
    if (other) placed.kernel = other.get();
    cut(overlap, placed, prepared);
    if (other && !overlap.ranges.empty()) operations.of[id].kernel = std::move(other);
  }
}

}  // namespace

KernelRequest host_request(const Prepared& prepared, NodeId id) {
  const Graph& graph = prepared.graph();
  if (const FusionGroup* group = prepared.fusions[kHost].group(id)) return request_for(graph, *group);
  const Node& node = graph.nodes[id];
  KernelRequest request{id, node.op, &prepared.attributes(id), {}, {}, {}, {}, {}, {}};
  for (const ValueId input : node.inputs) request.input_types.push_back(graph.values[input].type);
  for (const ValueId result : node.results) request.result_types.push_back(graph.values[result].type);
  return request;
}

HostOperations prepare_host_operations(const Prepared& prepared, const SlotUses& slots) {
  const Graph& graph = prepared.graph();
  HostOperations operations{&graph, &prepared.fusions[kHost], {}, {}, {}};
  operations.of.reserve(graph.nodes.size());
  while (operations.of.size() < graph.nodes.size()) operations.of.push_back({});
  for (const Block& block : prepared.program->devices[kHost].blocks) {
    for (const Step& step : block.steps) {
      const FusionGroup* group = operations.fusion->group(step.node);
      const bool runs = step.kind == StepKind::compute && graph.nodes[step.node].kind == NodeKind::operation;
      if (runs && (!group || group->nodes.back() == step.node)) prepare_operation(prepared, slots, step.node, operations);
    }
  }
  prepare_overlaps(prepared, operations);
  return operations;
}

}  // namespace cleave::runtime
