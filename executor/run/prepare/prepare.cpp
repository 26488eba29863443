#include <algorithm>

#include "executor/device/kernel.h"
#include "executor/device/mailboxes.h"
#include "executor/memory/host_fit.h"
#include "executor/memory/plan_memory.h"
#include "executor/run/prepare/prepared.h"

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

constexpr std::int64_t kSlack = 32;  ///< number of steps that copies may be ahead or behind without waiting for memory

/// Plans a device's fusion and memory. Slack, rotating buffers and fusion lengthen live ranges and duplicate some buffers: if the plan does
/// not fit, they are given up one after the other.
void plan_device(Prepared& prepared, DeviceId id, const ExecutorSetup& setup, double capacity) {
  const Program& program = *prepared.program;
  const FusionRule rule = id == kHost ? host_fuses : setup.back_end.fuses;
  Fusion fusion = find_fusion(program, id, setup.fuse ? rule : nullptr);
  Spending spending{kSlack, id != kHost, id != kHost ? setup.back_end.copied_from : 0};
  MemoryPlan plan = plan_memory(program, id, id == kHost, fusion, spending);
  const auto too_large = [&] { return capacity > 0 && static_cast<double>(plan.arena_bytes) > capacity; };
  if (id != kHost && too_large()) {
    spending.twice_from = 0;
    plan = plan_memory(program, id, false, fusion, spending);
  }
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
    Result<std::unique_ptr<Device>> device = setup.back_end.open(setup.ordinal + static_cast<int>(d) - 1, setup);
    if (!device) return device.error();
    prepared.devices[id] = *std::move(device);
  }
  if (host_bytes(prepared.plans, setup.back_end.simulates) < kWorthLooking) return {};
  return fits_host(*prepared.program, prepared.plans, setup.back_end.simulates, host_memory(), private_memory());
}

/// Whether another thread than the host's may need a value as soon as it arrives (early_outputs.h).
bool leaves_early(const Program& program, ChannelId first) {
  const Channel& channel = program.channels[first];
  if (channel.to != kHost || channel.region != Graph::kRoot) return false;
  const std::span<const ChannelId> all = travelling_with(program, first);
  const std::vector<Output>& outputs = program.graph->outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) {
    return std::any_of(all.begin(), all.end(), [&](ChannelId each) { return program.channels[each].value == output.value; });
  });
}

/// The capacity of each channel: the caller's number, else the plan's. If this process may not use that much memory, no channel has more
/// than the default capacity.
IdVector<ChannelId, int> find_depths(const Prepared& prepared, const ExecutorSetup& setup) {
  const Program& program = *prepared.program;
  IdVector<ChannelId, int> depths;
  for (const Channel& channel : program.channels) depths.push_back(setup.channel_capacity > 0 ? setup.channel_capacity : channel.depth);
  if (setup.channel_capacity > 0) return depths;
  const std::int64_t deep = deep_bytes(program);
  const std::int64_t needed = host_bytes(prepared.plans, setup.back_end.simulates) + deep;
  if (deep == 0 || needed < kWorthLooking || may_use(needed, host_memory(), private_memory())) return depths;
  for (int& depth : depths) depth = std::min(depth, kDefaultDepth);
  return depths;
}

/// Finds the channels of small values on devices that have mailboxes.
IdVector<ChannelId, std::uint8_t> find_by_mailbox(const Prepared& prepared) {
  const Program& program = *prepared.program;
  IdVector<ChannelId, std::uint8_t> found(program.channels.size(), 0);
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if (follows(program, id) || between_accelerators(channel)) continue;
    const std::int64_t bytes = slot_bytes(program, id);
    const bool small = bytes > 0 && bytes <= Mailbox::kMostBytes;
    if (!small || leaves_early(program, id) || !prepared.devices[channel.from == kHost ? channel.to : channel.from]->mailboxes()) continue;
    for (const ChannelId each : travelling_with(program, id)) found[each] = 1;
  }
  return found;
}

/// The number of threads for the host's kernels that leaves a core to the driver thread of each accelerator: these threads spin between
/// two kernels, and a driver that waits for a core delays the accelerator. With few cores there is none to leave.
int threads_beside_drivers(const Program& program) {
  constexpr int kFewCores = 3;
  const int cores = Workers::available();
  const auto drivers = static_cast<int>(program.devices.size()) - 1;
  return cores <= kFewCores ? cores : std::max(1, cores - drivers);
}

}  // namespace

Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const StepCosts& costs, const ExecutorSetup& setup) {
  if (setup.channel_capacity < 0) return Error{"a channel holds at least one value", {}, ErrorKind::usage};
  if (setup.threads < 0) return Error{"the number of threads is not negative", {}, ErrorKind::usage};
  if (!(setup.watchdog_seconds > 0)) return Error{"the watchdog needs a positive number of seconds", {}, ErrorKind::usage};
  auto prepared = std::make_unique<Prepared>();
  prepared->program = std::move(program);
  prepared->costs = costs;
  prepared->constants = setup.constants;
  prepared->virtual_time = setup.back_end.simulates;
  prepared->chunks.size = std::max<std::int64_t>(setup.part_bytes, 1);
  Result<BoundAttributes> bound = load_host_functions(prepared->graph(), setup.library_paths);
  if (!bound) return bound.error();
  prepared->bound = std::move(*bound);
  prepared->patience = setup.watchdog_seconds;
  if (setup.precision != Precision::f32 && setup.back_end.in_precision)
    prepared->precision = [graph = prepared->program->graph, wanted = setup.precision, concerns = setup.back_end.in_precision](
                              NodeId node) { return concerns(*graph, node) ? wanted : Precision::f32; };
  prepared->workers =
      Workers::of(setup.threads > 0 || setup.back_end.simulates ? setup.threads : threads_beside_drivers(*prepared->program));
  find_walked(*prepared);
  if (Status status = open_devices(*prepared, setup); !status) return status.error();
  prepared->depths = find_depths(*prepared, setup);
  prepared->by_mailbox = find_by_mailbox(*prepared);
  return prepared;
}

}  // namespace cleave::runtime
