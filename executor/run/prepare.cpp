#include "executor/device/kernel.h"
#include "executor/run/prepared.h"

namespace cleave::runtime {
namespace {

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

constexpr std::int64_t kSlack = 32;  ///< steps that copies may be ahead or behind without waiting for memory

/// What of a device's work runs as one kernel, and where its values lie. With slack, and fused, values may have to be held for longer: what
/// does not fit then may fit without.
void plan_device(Prepared& prepared, DeviceId id, const ExecutorSetup& setup, double capacity) {
  const Program& program = *prepared.program;
  const FusionRule rule = id == kHost ? host_fuses : setup.back_end.fuses;
  Fusion fusion = find_fusion(program, id, setup.fuse ? rule : nullptr);
  MemoryPlan plan = plan_memory(program, id, id == kHost, fusion, kSlack);
  const auto too_large = [&] { return capacity > 0 && static_cast<double>(plan.arena_bytes) > capacity; };
  if (id != kHost && too_large()) plan = plan_memory(program, id, false, fusion);
  if (too_large() && !fusion.groups.empty()) {
    fusion = {};
    plan = plan_memory(program, id, id == kHost);
  }
  prepared.fusions.push_back(std::move(fusion));
  prepared.plans.push_back(std::move(plan));
}

Status open_devices(Prepared& prepared, const ExecutorSetup& setup) {
  for (std::size_t d = 0; d < prepared.program->devices.size(); ++d) {
    const DeviceId id{d};
    const bool needed = id != kHost && has_steps(prepared.program->devices[id]);
    if (needed && !setup.back_end.open)
      return Error{"the program has work for " + to_string(id) + ", but there is no accelerator", {}, ErrorKind::usage};
    const double capacity = prepared.costs.memory_bytes[id];
    plan_device(prepared, id, setup, capacity);
    if (capacity > 0 && static_cast<double>(prepared.plans[id].arena_bytes) > capacity)
      return does_not_fit(*prepared.program, id, prepared.plans[id], capacity);
    prepared.devices.push_back(nullptr);
    if (!needed) continue;
    Result<std::unique_ptr<Device>> device = setup.back_end.open(setup.ordinal, setup);
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

Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const StepCosts& costs, const ExecutorSetup& setup) {
  if (setup.channel_capacity < 1) return Error{"a channel needs a capacity of at least one", {}, ErrorKind::usage};
  if (setup.threads < 0) return Error{"the number of threads is not negative", {}, ErrorKind::usage};
  if (!(setup.watchdog_seconds > 0)) return Error{"the watchdog needs a positive number of seconds", {}, ErrorKind::usage};
  auto prepared = std::make_unique<Prepared>();
  prepared->program = std::move(program);
  prepared->costs = costs;
  Result<BoundAttributes> bound = load_host_functions(prepared->graph(), setup.library_paths);
  if (!bound) return bound.error();
  prepared->bound = std::move(*bound);
  prepared->patience = setup.watchdog_seconds;
  if (setup.precision != Precision::f32 && setup.back_end.in_precision)
    prepared->precision = [graph = prepared->program->graph, wanted = setup.precision, concerns = setup.back_end.in_precision](
                              NodeId node) { return concerns(*graph, node) ? wanted : Precision::f32; };
  prepared->workers = Workers::of(setup.threads);
  find_walked(*prepared);
  if (Status status = open_devices(*prepared, setup); !status) return status.error();
  if (Status status = open_channels(*prepared, setup.channel_capacity); !status) return status.error();
  return prepared;
}

}  // namespace cleave::runtime
