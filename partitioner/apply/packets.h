// Packets: coalesced transfers of small values (Packet, program.h). form_packets() groups values of at most 64 KiB together that one device
// sends to another in adjacent steps, with nothing between them that the sender could wait for. This can only lower the cost of transfers,
// and adds no deadlock: a packet is sent where its first value would have been sent anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

inline constexpr std::int64_t kMostPacketBytes = 64 << 10;
inline constexpr std::size_t kMostPacketValues = 64;
inline constexpr std::int64_t kPacketAlignment = 16;  ///< in bytes, of each value in a packet

/// Forms packets of values whose channels pass `may_travel`. The receives of a packet move to where its first one is, and `order` is
/// renumbered.
void form_packets(Program& program, const std::function<bool(ChannelId)>& may_travel);

/// Seconds of one transfer on each channel. The values of a packet together take as long as one copy of its bytes: the first value of it
/// includes the latency.
IdVector<ChannelId, double> channel_seconds(const Program& program, const CostedProblem& costed);

/// The time that one execution of a packet saves over separate transfers of its values.
double saved_seconds(const Program& program, const CostedProblem& costed, PacketId packet);

}  // namespace cleave::planner
