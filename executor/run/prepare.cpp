#include "executor/cuda/open.h"
#include "executor/run/prepared.h"
#include "executor/simulated/simulated_device.h"

namespace cleave {
namespace {

/// The cost model's seconds, which the virtual clock replays.
void set_costs(Prepared& prepared, const Machine& machine, const ExecutorOptions& options) {
  const Graph& graph = prepared.graph();
  prepared.host_seconds.resize(graph.nodes.size(), 0);
  prepared.accelerator_seconds.resize(graph.nodes.size(), 0);
  prepared.transfer_seconds.resize(prepared.program->channels.size(), 0);
  if (machine.accelerators.empty()) return;
  CostModel model;
  model.machine = machine;
  model.supported = kernel_support(options.accelerator);
  Diagnostics ignored;  // of pins, which the planner has reported
  PlacementProblem problem = make_problem(graph, model, ignored).problem;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    prepared.host_seconds[NodeId(i)] = problem.nodes[i].host_seconds;
    prepared.accelerator_seconds[NodeId(i)] = problem.nodes[i].accelerator_seconds;
  }
  for (std::size_t i = 0; i < prepared.program->channels.size(); ++i) {
    const Channel& channel = prepared.channel(ChannelId(i));
    auto bytes = static_cast<double>(graph.values[channel.value].type.bytes());
    prepared.transfer_seconds[ChannelId(i)] = machine.link(channel.to != kHost).seconds(bytes);
  }
}

void find_walked(Prepared& prepared) {
  for (const DeviceProgram& device : prepared.program->devices) {
    IdVector<NodeId, std::uint8_t> walked(prepared.graph().nodes.size(), 0);
    for (const Block& block : device.blocks) {
      for (const Step& step : block.steps) {
        if (is_control(prepared.graph().nodes[step.node].kind)) walked[step.node] = 1;
      }
    }
    prepared.walks.push_back(std::move(walked));
    prepared.controls.push_back({});
  }
}

bool has_steps(const DeviceProgram& device) {
  return !device.blocks.empty() && !device.blocks[0].steps.empty();
}

Result<std::unique_ptr<Device>> open_device(const ExecutorOptions& options, const Faults& faults) {
  if (options.open) return options.open();
  if (options.accelerator == ExecutorOptions::Accelerator::cuda) return cuda::open(options);
  return SimulatedDevice::open(options, faults);
}

/// What of the accelerator's work runs as one kernel, and where its values lie. Fused, values may have to be held for longer: what does
/// not fit then may fit without.
void plan_device(Prepared& prepared, DeviceId id, const ExecutorOptions& options, double capacity) {
  const Program& program = *prepared.program;
  const bool fuses = id != kHost && options.fuse && options.accelerator == ExecutorOptions::Accelerator::cuda;
  Fusion fusion = find_fusion(program, id, fuses ? FusionRule(cuda::fuses) : nullptr);
  MemoryPlan plan = plan_memory(program, id, id == kHost, fusion);
  if (capacity > 0 && static_cast<double>(plan.arena_bytes) > capacity && !fusion.groups.empty()) {
    fusion = {};
    plan = plan_memory(program, id, id == kHost);
  }
  prepared.fusions.push_back(std::move(fusion));
  prepared.plans.push_back(std::move(plan));
}

Status open_devices(Prepared& prepared, const Machine& machine, const ExecutorOptions& options) {
  Result<Faults> faults = Faults::parse(options.inject);
  if (!faults) return faults.error();
  for (std::size_t d = 0; d < prepared.program->devices.size(); ++d) {
    DeviceId id{d};
    const DeviceProgram& program = prepared.program->devices[id];
    bool needed = id != kHost && has_steps(program);
    if (needed && options.accelerator == ExecutorOptions::Accelerator::none) {
      return Error{"the program has work for " + to_string(id) + ", but there is no accelerator", {}, ErrorKind::usage};
    }
    double capacity = machine.host.memory_bytes;
    if (id != kHost) capacity = machine.accelerators.size() >= d ? machine.accelerators[d - 1].memory_bytes : 0;
    plan_device(prepared, id, options, capacity);
    if (capacity > 0 && static_cast<double>(prepared.plans[id].arena_bytes) > capacity) {
      return does_not_fit(*prepared.program, id, prepared.plans[id], capacity);
    }
    prepared.devices.push_back(nullptr);
    if (!needed) continue;
    Result<std::unique_ptr<Device>> device = open_device(options, *faults);
    if (!device) return device.error();
    prepared.devices[id] = *std::move(device);
  }
  return {};
}

/// Rings of staging memory, page-locked by the device at the far end.
Status open_channels(Prepared& prepared, int capacity) {
  for (const Channel& channel : prepared.program->channels) {
    Device& device = *prepared.devices[channel.from == kHost ? channel.to : channel.from];
    std::vector<std::byte*> slots;
    for (int i = 0; i < capacity; ++i) {
      Result<std::byte*> slot = device.allocate_staging(prepared.graph().values[channel.value].type.bytes());
      if (!slot) return slot.error();
      slots.push_back(*slot);
    }
    prepared.rings.push_back(Ring(slots));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const Machine& machine, const ExecutorOptions& options) {
  if (options.channel_capacity < 1) return Error{"a channel needs a capacity of at least one", {}, ErrorKind::usage};
  if (!(options.watchdog_seconds > 0)) return Error{"the watchdog needs a positive number of seconds", {}, ErrorKind::usage};
  auto prepared = std::make_unique<Prepared>();
  prepared->program = std::move(program);
  Result<BoundAttributes> bound = load_host_functions(prepared->graph(), options.library_paths);
  if (!bound) return bound.error();
  prepared->bound = std::move(*bound);
  set_costs(*prepared, machine, options);
  find_walked(*prepared);
  if (Status status = open_devices(*prepared, machine, options); !status) return status.error();
  if (Status status = open_channels(*prepared, options.channel_capacity); !status) return status.error();
  return prepared;
}

}  // namespace cleave
