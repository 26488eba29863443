#include "executor/run/prepare/open_transports.h"

#include <utility>

#include "executor/run/transport/mailbox_transport.h"
#include "executor/run/transport/peer_transport.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

constexpr std::int64_t kWord = sizeof(std::uint64_t);

/// Makes the transports one after the other, with what it has found out about all channels.
class TransportOpener {
 public:
  TransportOpener(const Prepared& prepared, const SlotUses& slots, const HostOperations& operations)
      : prepared_(prepared),
        program_(*prepared.program),
        slots_(slots),
        host_orders_(program_.channels.size(), 0),
        while_arriving_(program_.channels.size(), 0),
        read_(prepared.graph().values.size(), 0),
        outputs_(prepared.graph().values.size(), 0) {
    find_host_uses();
    for (const Overlap& overlap : operations.overlaps)
      for (const Overlap::OverlappedTransfer& each : overlap.coming) while_arriving_[each.channel] = 1;
    const std::vector<bool> state = state_outputs(prepared.graph());
    for (std::size_t i = 0; i < state.size(); ++i)
      if (!state[i]) outputs_[prepared.graph().outputs[i].value] = 1;
  }

  Result<Transports> run() {
    Transports transports;
    transports.chunks_to_device.resize(program_.channels.size(), nullptr);
    transports.chunks_to_host.resize(program_.channels.size(), nullptr);
    transports.result_slots.resize(prepared_.graph().values.size(), nullptr);
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      transports.of.push_back(nullptr);
      if (follows(program_, ChannelId(c))) continue;
      if (Status status = open(ChannelId(c), transports); !status) return status.error();
    }
    find_awaited_slots(transports);
    return transports;
  }

 private:
  /// Finds the order of the host's step of each channel, and the values that a host step reads: all others are received only as outputs.
  void find_host_uses() {
    const Graph& graph = prepared_.graph();
    const auto read = [&](NodeId node) {
      for (const ValueId input : graph.nodes[node].inputs) read_[input] = 1;
    };
    for (const Block& block : program_.devices[kHost].blocks) {
      if (const ValueId predicate = graph.regions[block.region].predicate; predicate.valid()) read_[predicate] = 1;
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send || step.kind == StepKind::receive) host_orders_[step.channel] = step.order;
        if (step.kind == StepKind::send) read_[step.value] = 1;
        if (step.kind == StepKind::send || step.kind == StepKind::receive) continue;
        read(step.node);
        for (const NodeId carried : step.carried) read(carried);
        for (const NodeId merge : step.merges) read(merge);
      }
    }
  }

  void find_awaited_slots(Transports& transports) const {
    transports.awaited_slots.resize(prepared_.graph().values.size(), nullptr);
    if (prepared_.virtual_time) return;  // on the virtual clock, a copy out of the arena takes no time
    for (const Block& block : program_.devices[kHost].blocks) {
      for (std::size_t s = 1; s < block.steps.size(); ++s) {
        const Step &step = block.steps[s], &before = block.steps[s - 1];
        if (step.kind != StepKind::send || slots_.computed[step.value] != step.channel) continue;
        if (before.kind == StepKind::compute && before.node == prepared_.graph().values[step.value].producer)
          transports.awaited_slots[step.value] = transports.result_slots[step.value];
      }
    }
  }

  Status open(ChannelId id, Transports& transports) {
    const Channel& channel = program_.channels[id];
    if (between_accelerators(channel)) return open_between(id, transports);
    Device& device = *prepared_.devices[channel.from == kHost ? channel.to : channel.from];
    return prepared_.by_mailbox[id] != 0 ? open_mailbox(id, device, transports)
           : channel.from == kHost       ? open_to_device(id, device, transports)
                                         : open_to_host(id, device, transports);
  }

  Status open_between(ChannelId id, Transports& transports) {
    const Channel& channel = program_.channels[id];
    Device &from = *prepared_.devices[channel.from], &to = *prepared_.devices[channel.to];
    if (!to.peer_copies())
      return Error{"the program copies from " + to_string(channel.from) + " to " + to_string(channel.to) +
                       " directly, and these accelerators have no such copies",
                   {},
                   ErrorKind::usage};
    transports.of[id] = std::make_unique<PeerTransport>(values(id), channel.from, from, to, prepared_.depths[id]);
    return {};
  }

  Status open_mailbox(ChannelId id, Device& device, Transports& transports) {
    Result<Mailbox> mailbox = device.mailboxes()->open();
    if (!mailbox) return mailbox.error();
    std::vector<MailboxSlot> slots;
    const std::int64_t command = (slot_bytes(program_, id) + kWord - 1) / kWord * kWord;  // after the value
    for (int i = 0; i < prepared_.depths[id]; ++i) {
      Result<std::byte*> slot = device.allocate_staging(command + kWord);
      if (!slot) return slot.error();
      slots.push_back({*slot, reinterpret_cast<std::uint64_t*>(*slot + command)});
    }
    std::unique_ptr<Transport>& transport = transports.of[id];
    if (program_.channels[id].from == kHost) {
      transport = std::make_unique<MailboxToDevice>(values(id), *mailbox, std::move(slots), host_orders_[id], *device.mailboxes());
    } else {
      transport = std::make_unique<MailboxToHost>(values(id), *mailbox, std::move(slots), host_orders_[id], *device.mailboxes());
    }
    return {};
  }

  Status open_to_device(ChannelId id, Device& device, Transports& transports) {
    Result<Ring> ring = open_ring(id, device);
    if (!ring) return ring.error();
    std::unique_ptr<RingToDevice> transport;
    if (in_chunks(id)) {
      auto chunks = std::make_unique<ChunksToDevice>(values(id), *std::move(ring), device, prepared_.chunks);
      transports.chunks_to_device[id] = chunks.get();
      transport = std::move(chunks);
    } else {
      transport = std::make_unique<RingToDevice>(values(id), *std::move(ring), device);
    }
    const ValueId value = program_.channels[id].value;
    if (slots_.computed[value] == id) transports.result_slots[value] = transport.get();
    transports.of[id] = std::move(transport);
    return {};
  }

  Status open_to_host(ChannelId id, Device& device, Transports& transports) {
    Result<Ring> ring = open_ring(id, device);
    if (!ring) return ring.error();
    const ReceivedUse use = use_of(id);
    // The host uses a value that it reads in its slot all at once, unless an operation takes it chunk by chunk.
    if (!in_chunks(id) || (use.in_slot && !use.while_arriving)) {
      transports.of[id] = std::make_unique<RingToHost>(values(id), *std::move(ring), device, use);
      return {};
    }
    auto chunks = std::make_unique<ChunksToHost>(values(id), *std::move(ring), device, use, prepared_.chunks);
    transports.chunks_to_host[id] = chunks.get();
    transports.of[id] = std::move(chunks);
    return {};
  }

  Result<Ring> open_ring(ChannelId id, Device& device) {
    std::vector<std::byte*> slots;
    for (int i = 0; i < prepared_.depths[id]; ++i) {
      Result<std::byte*> slot = device.allocate_staging(slot_bytes(program_, id));
      if (!slot) return slot.error();
      slots.push_back(*slot);
    }
    return Ring(slots);
  }

  [[nodiscard]] std::vector<TransferredValue> values(ChannelId id) const {
    std::vector<TransferredValue> values;
    for (const ChannelId each : travelling_with(program_, id)) {
      const Channel& channel = program_.channels[each];
      const Value& value = prepared_.graph().values[channel.value];
      values.push_back({channel.value, value.producer, value.type.bytes(), channel.offset, prepared_.costs.channel_seconds[each]});
    }
    return values;
  }
  [[nodiscard]] bool in_chunks(ChannelId id) const {
    const Channel& channel = program_.channels[id];
    return !channel.coalesced && prepared_.chunks.count(prepared_.graph().values[channel.value].type.bytes()) > 1;
  }
  [[nodiscard]] ReceivedUse use_of(ChannelId id) const {
    const Channel& channel = program_.channels[id];
    ReceivedUse use;
    use.in_slot = slots_.read[id] != 0;
    use.while_arriving = while_arriving_[id] != 0;
    use.read = read_[channel.value] != 0;
    use.in_place = channel.region == Graph::kRoot && !channel.coalesced;  // in a loop, a later trip may overtake it
    use.output = outputs_[channel.value] != 0;
    return use;
  }

  const Prepared& prepared_;
  const Program& program_;
  const SlotUses& slots_;
  IdVector<ChannelId, std::int64_t> host_orders_;
  IdVector<ChannelId, std::uint8_t> while_arriving_;
  IdVector<ValueId, std::uint8_t> read_, outputs_;
};

}  // namespace

Result<Transports> open_transports(const Prepared& prepared, const SlotUses& slots, const HostOperations& operations) {
  return TransportOpener(prepared, slots, operations).run();
}

}  // namespace cleave::runtime
