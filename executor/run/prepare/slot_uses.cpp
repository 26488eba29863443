#include "executor/run/prepare/slot_uses.h"

namespace cleave::runtime {
namespace {

std::size_t host_storage(const Prepared& prepared, ValueId value) {
  return static_cast<std::size_t>(prepared.plans[kHost].storage_of[value]);
}

/// Finds values whose storage only their operation writes, and that are sent once each time they are computed: the device may read the slot
/// while the host does, and the operation uses another slot the next time.
IdVector<ValueId, ChannelId> find_computed(const Prepared& prepared) {
  const Program& program = *prepared.program;
  const Graph& graph = prepared.graph();
  IdVector<ValueId, ChannelId> found(graph.values.size());
  std::vector<int> sent(graph.values.size(), 0);
  for (const Channel& channel : program.channels)
    if (channel.from == kHost) ++sent[channel.value.index];
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if (channel.from != kHost || sent[channel.value.index] > 1 || channel.coalesced || prepared.by_mailbox[id] != 0) continue;
    const Node& producer = graph.producer(channel.value);
    const MemoryPlan::Storage& storage = prepared.plans[kHost].storages[host_storage(prepared, channel.value)];
    if (producer.kind != NodeKind::operation || producer.region != channel.region) continue;
    if (storage.external || storage.values.size() > 1 || storage.range.bytes == 0) continue;
    found[channel.value] = id;
  }
  return found;
}

/// Finds values that stay in their slot until the next ones are taken: the device can then be ahead by one slot less.
IdVector<ChannelId, std::uint8_t> find_read(const Prepared& prepared) {
  const Program& program = *prepared.program;
  const MemoryPlan& plan = prepared.plans[kHost];
  std::vector<int> received(plan.storages.size(), 0);
  for (const Channel& channel : program.channels)
    if (channel.to == kHost) ++received[host_storage(prepared, channel.value)];
  IdVector<ChannelId, std::uint8_t> found(program.channels.size(), 0);
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if (channel.to != kHost || channel.coalesced || prepared.by_mailbox[id] != 0 || prepared.depths[id] < 2) continue;
    const std::size_t storage = host_storage(prepared, channel.value);
    const bool ours = !plan.storages[storage].external && plan.storages[storage].range.bytes > 0;
    found[id] = ours && received[storage] == 1 ? 1 : 0;
  }
  return found;
}

}  // namespace

SlotUses find_slot_uses(const Prepared& prepared) {
  SlotUses uses{find_computed(prepared), find_read(prepared), {}};
  uses.moving_storages.resize(prepared.plans[kHost].storages.size(), 0);
  for (std::size_t v = 0; v < uses.computed.size(); ++v)
    if (uses.computed[ValueId(v)]) uses.moving_storages[host_storage(prepared, ValueId(v))] = 1;
  for (std::size_t c = 0; c < uses.read.size(); ++c)
    if (uses.read[ChannelId(c)] != 0) uses.moving_storages[host_storage(prepared, prepared.channel(ChannelId(c)).value)] = 1;
  return uses;
}

}  // namespace cleave::runtime
