#include "executor/run/driver/host_storage.h"

#include <algorithm>

namespace cleave::runtime {

HostStorage::HostStorage(Prepared& prepared) : prepared_(prepared), graph_(prepared.graph()), plan_(prepared.plans[kHost]) {
  moves_.resize(plan_.storages.size(), 0);
  find_sent();
  held_.resize(prepared_.read_in_slot.size(), 0);
  for (std::size_t c = 0; c < prepared_.read_in_slot.size(); ++c) {
    if (prepared_.read_in_slot[ChannelId(c)]) moves_[index(plan_.storage_of[prepared_.channel(ChannelId(c)).value])] = 1;
  }
}

/// Finds values whose storage only their operation writes, and that are sent once each time they are computed: the device may read the slot
/// while the host does, and the operation uses another slot the next time.
void HostStorage::find_sent() {
  std::vector<int> sent(graph_.values.size(), 0);
  sent_.resize(graph_.values.size());
  const Program& program = *prepared_.program;
  for (const Channel& channel : program.channels)
    if (channel.from == kHost) ++sent[channel.value.index];
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if (channel.from != kHost || sent[channel.value.index] > 1 || channel.coalesced || prepared_.exchanges[id]) continue;
    const Node& producer = graph_.producer(channel.value);
    const MemoryPlan::Storage& storage = plan_.storages[index(plan_.storage_of[channel.value])];
    if (producer.kind != NodeKind::operation || producer.region != channel.region) continue;
    if (storage.external || storage.values.size() > 1 || storage.range.bytes == 0) continue;
    sent_[channel.value] = id;
    moves_[index(plan_.storage_of[channel.value])] = 1;
  }
}

Status HostStorage::allocate() {
  Result<Array> arena = Array::allocate({DType::u8, {plan_.arena_bytes}});
  if (!arena) return does_not_fit(*prepared_.program, kHost, plan_, 0);
  arena_ = *std::move(arena);
  for (const MemoryPlan::Storage& storage : plan_.storages)
    home_.push_back(storage.external ? nullptr : arena_.mutable_bytes() + storage.range.offset);
  now_ = home_;
  return {};
}

void HostStorage::begin() {
  now_ = home_;
  std::fill(held_.begin(), held_.end(), 0);
}

void HostStorage::compute(ValueId value, RunState& run) {
  const ChannelId channel = sent_[value];
  if (!channel) return;
  const StorageIndex storage = plan_.storage_of[value];
  const Ring::Slot* slot = prepared_.ring(channel).spare(run);
  // The slot's last value may still be in flight. Waiting for it could be a deadlock, if it depends on values sent after this one.
  const bool free = slot && prepared_.devices[prepared_.channel(channel).to]->streams().passed(slot->free.event);
  now_[index(storage)] = free ? slot->data : home_[index(storage)];
}

void HostStorage::give_back(ChannelId channel, RunState& run) {
  if (!held_[channel]) return;
  held_[channel] = 0;
  prepared_.ring(channel).release(run);
}

bool HostStorage::keep(ChannelId channel, const Ring::Slot& slot) {
  if (!prepared_.read_in_slot[channel]) return false;
  const std::size_t storage = index(plan_.storage_of[prepared_.channel(channel).value]);
  const bool there = slot.at == slot.data;
  now_[storage] = there ? slot.data : home_[storage];
  held_[channel] = there ? 1 : 0;
  return there;
}

}  // namespace cleave::runtime
