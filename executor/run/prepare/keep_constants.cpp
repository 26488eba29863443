#include "executor/run/prepare/keep_constants.h"

#include "executor/device/keeps_constants.h"
#include "executor/memory/fusion.h"
#include "graph/kernel/fusible_group.h"

namespace cleave::runtime {
namespace {

/// The request for the kernel that runs at a node: its own, or that of the group that ends with it.
KernelRequest request_at(const Graph& graph, NodeId id, const FusionGroup* group) {
  if (group) return request_for(graph, *group);
  const Node& node = graph.nodes[id];
  KernelRequest request{id, node.op, &node.attributes, {}, {}, {}, {}, {}, {}};
  for (const ValueId input : node.inputs) request.input_types.push_back(graph.values[input].type);
  for (const ValueId result : node.results) request.result_types.push_back(graph.values[result].type);
  return request;
}

/// Lets the kernel at a node derive what it keeps. Null if it reads no constant.
std::unique_ptr<HostKernel> keep_at(const Graph& graph, NodeId id, const FusionGroup* group, Workers& workers, SharedConstants& constants) {
  const std::vector<ValueId>& reads = group ? group->inputs : graph.nodes[id].inputs;
  const std::vector<ValueId>& writes = group ? group->results : graph.nodes[id].results;
  std::vector<TensorView> inputs, results;
  std::vector<std::uint8_t> kept;
  bool any = false;
  for (const ValueId value : reads) {
    const Node& producer = graph.producer(value);
    const bool constant = producer.kind == NodeKind::constant;
    // No kernel writes its inputs: casting `const` away is safe.
    std::byte* data = constant ? const_cast<std::byte*>(producer.attributes.get<Array>("value").bytes()) : nullptr;
    inputs.push_back({&graph.values[value].type, data});
    kept.push_back(constant ? 1 : 0);
    any = any || constant;
  }
  if (!any) return nullptr;
  for (const ValueId value : writes) results.push_back({&graph.values[value].type, nullptr});
  std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request_at(graph, id, group));
  const OpContext context;
  if (auto* keeps = dynamic_cast<KeepsConstants*>(kernel.get()))
    keeps->keep({*graph.nodes[id].op, graph.nodes[id].attributes, inputs, results, context, workers, kept, &constants});
  return kernel;
}

}  // namespace

std::vector<std::unique_ptr<HostKernel>> keep_constants(const Program& program, bool fuses, int threads, SharedConstants& constants) {
  const Graph& graph = *program.graph;
  const Fusion fusion = find_fusion(program, kHost, fuses ? host_fuses : nullptr);
  const std::shared_ptr<Workers> workers = Workers::of(threads);
  std::vector<std::unique_ptr<HostKernel>> kernels;
  for (const Block& block : program.devices[kHost].blocks) {
    for (const Step& step : block.steps) {
      const FusionGroup* group = fusion.group(step.node);
      const bool runs = step.kind == StepKind::compute && graph.nodes[step.node].kind == NodeKind::operation;
      if (!runs || (group && group->nodes.back() != step.node) || graph.nodes[step.node].host_function()) continue;
      if (auto kernel = keep_at(graph, step.node, group, *workers, constants)) kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

}  // namespace cleave::runtime
