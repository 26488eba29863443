#include <algorithm>

#include "executor/device/kernel.h"
#include "executor/device/mailboxes.h"
#include "executor/memory/host_fit.h"
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
    Result<std::unique_ptr<Device>> device = setup.back_end.open(setup.ordinal, setup);
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

/// The order of the host's step of each channel.
IdVector<ChannelId, std::int64_t> host_orders(const Program& program) {
  IdVector<ChannelId, std::int64_t> orders(program.channels.size(), 0);
  for (const Block& block : program.devices[kHost].blocks)
    for (const Step& step : block.steps)
      if (step.kind == StepKind::send || step.kind == StepKind::receive) orders[step.channel] = step.order;
  return orders;
}

constexpr std::int64_t kWord = sizeof(std::uint64_t);

Result<std::optional<Exchange>> open_exchange(Device& device, std::int64_t bytes, int capacity, std::int64_t host_order) {
  if (!device.mailboxes()) return std::optional<Exchange>();
  Result<Mailbox> mailbox = device.mailboxes()->open();
  if (!mailbox) return mailbox.error();
  std::vector<MailboxSlot> slots;
  for (int i = 0; i < capacity; ++i) {
    const std::int64_t command = (bytes + kWord - 1) / kWord * kWord;  // after the value
    Result<std::byte*> slot = device.allocate_staging(command + kWord);
    if (!slot) return slot.error();
    slots.push_back({*slot, reinterpret_cast<std::uint64_t*>(*slot + command)});
  }
  return std::optional(Exchange(*mailbox, std::move(slots), host_order));
}

Result<Ring> open_ring(Device& device, std::int64_t bytes, int capacity) {
  std::vector<std::byte*> slots;
  for (int i = 0; i < capacity; ++i) {
    Result<std::byte*> slot = device.allocate_staging(bytes);
    if (!slot) return slot.error();
    slots.push_back(*slot);
  }
  return Ring(slots);
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

/// Opens the channels: exchanges for small values if the device supports them, else rings in staging memory, page-locked by the device at
/// the other end.
Status open_channels(Prepared& prepared, const IdVector<ChannelId, int>& depths) {
  const Program& program = *prepared.program;
  const IdVector<ChannelId, std::int64_t> orders = host_orders(program);
  prepared.ring_of.resize(program.channels.size(), 0);
  prepared.exchanges.resize(program.channels.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    if (follows(program, id)) continue;
    const Channel& channel = program.channels[id];
    Device& device = *prepared.devices[channel.from == kHost ? channel.to : channel.from];
    const std::int64_t bytes = slot_bytes(program, id);
    Result<std::optional<Exchange>> exchange = std::optional<Exchange>();
    if (bytes > 0 && bytes <= Mailbox::kMostBytes && !leaves_early(program, id))
      exchange = open_exchange(device, bytes, depths[id], orders[id]);
    if (!exchange) return exchange.error();
    Result<Ring> ring = *exchange ? Result<Ring>(Ring()) : open_ring(device, bytes, depths[id]);
    if (!ring) return ring.error();
    prepared.exchanges[id] = *std::move(exchange);
    for (const ChannelId each : travelling_with(program, id)) prepared.ring_of[each] = prepared.rings.size();
    prepared.rings.push_back(*std::move(ring));
  }
  return {};
}

/// Finds values that the host reads in the slot in which they arrived until the next ones are taken: the device can then be ahead by one
/// slot less.
void find_read_in_slot(Prepared& prepared, const IdVector<ChannelId, int>& depths) {
  const Program& program = *prepared.program;
  const MemoryPlan& plan = prepared.plans[kHost];
  std::vector<int> received(plan.storages.size(), 0);
  for (const Channel& channel : program.channels)
    if (channel.to == kHost) ++received[static_cast<std::size_t>(plan.storage_of[channel.value])];
  prepared.read_in_slot.resize(program.channels.size(), 0);
  prepared.read_in_parts.resize(program.channels.size(), 0);
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if (channel.to != kHost || channel.coalesced || prepared.exchanges[id] || depths[id] < 2) continue;
    const auto storage = static_cast<std::size_t>(plan.storage_of[channel.value]);
    const bool ours = !plan.storages[storage].external && plan.storages[storage].range.bytes > 0;
    prepared.read_in_slot[id] = ours && received[storage] == 1 ? 1 : 0;
  }
}

}  // namespace

Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const StepCosts& costs, const ExecutorSetup& setup) {
  if (setup.channel_capacity < 0) return Error{"a channel holds at least one value", {}, ErrorKind::usage};
  if (setup.threads < 0) return Error{"the number of threads is not negative", {}, ErrorKind::usage};
  if (!(setup.watchdog_seconds > 0)) return Error{"the watchdog needs a positive number of seconds", {}, ErrorKind::usage};
  auto prepared = std::make_unique<Prepared>();
  prepared->program = std::move(program);
  prepared->costs = costs;
  prepared->virtual_time = setup.back_end.simulates;
  prepared->part_bytes = std::max<std::int64_t>(setup.part_bytes, 1);
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
  const IdVector<ChannelId, int> depths = find_depths(*prepared, setup);
  if (Status status = open_channels(*prepared, depths); !status) return status.error();
  find_read_in_slot(*prepared, depths);
  return prepared;
}

}  // namespace cleave::runtime
