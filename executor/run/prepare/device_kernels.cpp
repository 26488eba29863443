#include "executor/run/prepare/device_kernels.h"

#include <optional>

#include "executor/memory/loop_transfers.h"
#include "executor/run/commands/rotation.h"

namespace cleave::runtime {
namespace {

Status upload_constant(const Prepared& prepared, DeviceId id, const Node& node) {
  return prepared.devices[id]->upload(prepared.plans[id].range(node.results[0]), node.attributes.get<Array>("value").bytes(), false);
}

Work work_of(const Prepared& prepared, DeviceId id, NodeId node, const DoubleBuffers* double_buffers, std::int32_t turn) {
  const IdVector<ValueId, StorageIndex>& storage_of = prepared.plans[id].storage_of;
  const FusionGroup* group = prepared.fusions[id].group(node);
  const Node& operation = prepared.graph().nodes[node];
  Work work;
  for (ValueId input : group ? group->inputs : operation.inputs)
    work.reads.push_back(storage_in_turn(double_buffers, storage_of[input], turn));
  for (ValueId result : group ? group->results : operation.results)
    work.writes.push_back(storage_in_turn(double_buffers, storage_of[result], turn));
  work.seconds = prepared.costs.seconds[id][node];
  return work;
}

Status prepare_kernel(const Prepared& prepared, DeviceId id, NodeId node, const DoubleBuffers* double_buffers, std::int32_t turn,
                      DeviceCommands& commands) {
  Work& work = commands.turn(turn).work[node];
  work = work_of(prepared, id, node, double_buffers, turn);
  const DeviceCommands::Turn& first = commands.turn(0);
  if (turn > 0 && work.reads == first.work[node].reads && work.writes == first.work[node].writes) {
    commands.turn(turn).kernels[node] = first.kernels[node];
    return {};
  }
  Result<KernelId> kernel = prepared.devices[id]->prepare(device_request(prepared, id, node, work));
  if (!kernel) return at_node(prepared.graph(), node, kernel.error());
  commands.turn(turn).kernels[node] = *kernel;
  return {};
}

}  // namespace

KernelRequest device_request(const Prepared& prepared, DeviceId id, NodeId node, const Work& work) {
  const Graph& graph = prepared.graph();
  const Node& operation = graph.nodes[node];
  const MemoryPlan& plan = prepared.plans[id];
  KernelRequest request{node, operation.op, &prepared.attributes(node), {}, {}, {}, {}, {}, {}};
  if (const FusionGroup* group = prepared.fusions[id].group(node)) {
    request = request_for(graph, *group);
  } else {
    for (ValueId input : operation.inputs) request.input_types.push_back(graph.values[input].type);
    for (ValueId result : operation.results) request.result_types.push_back(graph.values[result].type);
  }
  for (const StorageIndex s : work.reads) request.inputs.push_back(plan.range(s));
  for (const StorageIndex s : work.writes) request.results.push_back(plan.range(s));
  return request;
}

/// Announces the kernels of all steps, each for its first turn: those of other turns differ only in addresses.
static void announce_kernels(const Prepared& prepared, DeviceId id) {
  std::vector<KernelRequest> requests;
  const std::vector<Block>& blocks = prepared.program->devices[id].blocks;
  const MemoryPlan& plan = prepared.plans[id];
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) {
      const Step& step = blocks[b].steps[s];
      if (step.kind != StepKind::compute || prepared.graph().nodes[step.node].kind != NodeKind::operation) continue;
      const FusionGroup* group = prepared.fusions[id].group(step.node);
      if (plan.blocks[b][s].nothing || (group && step.node != group->nodes.back())) continue;
      requests.push_back(device_request(prepared, id, step.node, work_of(prepared, id, step.node, plan.double_buffers(b), 0)));
    }
  }
  prepared.devices[id]->announce(requests);
}

Status prepare_kernels(const Prepared& prepared, DeviceId id, DeviceCommands& commands) {
  announce_kernels(prepared, id);
  const std::vector<Block>& blocks = prepared.program->devices[id].blocks;
  const MemoryPlan& plan = prepared.plans[id];
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) {
      const Step& step = blocks[b].steps[s];
      const Node& node = prepared.graph().nodes[step.node];
      if (step.kind != StepKind::compute) continue;
      if (node.kind == NodeKind::constant)
        if (Status status = upload_constant(prepared, id, node); !status) return status;
      if (node.kind != NodeKind::operation || plan.blocks[b][s].nothing) continue;
      const FusionGroup* group = prepared.fusions[id].group(step.node);
      if (group && step.node != group->nodes.back()) continue;  // the node runs with a later one
      for (std::int32_t turn = 0; turn < turns_of(plan.double_buffers(b)); ++turn)
        if (Status status = prepare_kernel(prepared, id, step.node, plan.double_buffers(b), turn, commands); !status) return status;
    }
  }
  return {};
}

void find_awaited(const Prepared& prepared, DeviceId id, DeviceCommands& commands) {
  const DeviceProgram& program = prepared.program->devices[id];
  const MemoryPlan& plan = prepared.plans[id];
  const std::vector<std::optional<StepPosition>> around = loops_around(program);
  std::vector<std::optional<StepPosition>> comes_in(plan.storages.size());  ///< the loop
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    for (const Step& step : program.blocks[b].steps) {
      if (step.kind != StepKind::receive || prepared.by_mailbox[step.channel] != 0) continue;
      const StorageIndex s = plan.storage_of[step.value];
      if (storage_in_turn(plan.double_buffers(b), s, 1) != s) comes_in[static_cast<std::size_t>(s)] = around[b];
    }
  }
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    if (!around[b]) continue;
    std::set<StorageIndex> done;
    for (auto step = program.blocks[b].steps.rbegin(); step != program.blocks[b].steps.rend(); ++step) {
      if (step->kind != StepKind::compute) continue;
      const Work& work = commands.turn(0).work[step->node];
      bool last = false;
      for (const std::vector<StorageIndex>* touched : {&work.reads, &work.writes})
        for (const StorageIndex s : *touched) last |= comes_in[static_cast<std::size_t>(s)] == around[b] && done.insert(s).second;
      for (std::int32_t turn = 0; last && turn < turns_of(plan.double_buffers(b)); ++turn)
        commands.turn(turn).work[step->node].awaited = true;
    }
  }
}

}  // namespace cleave::runtime
