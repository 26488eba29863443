// Packets: which values of a Program travel as one (Packet, program.h). Values of up to 64 KiB together that one device sends to another
// one right after each other, with nothing between that it could have to wait for. That only lowers what transfers take, and excludes no
// less than before that devices wait for each other in a circle: the packet leaves where its first value would have left by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

inline constexpr std::int64_t kMostPacketBytes = 64 << 10;
inline constexpr std::size_t kMostPacketValues = 64;
inline constexpr std::int64_t kPacketAlignment = 16;  ///< of values in a packet

/// Of what `may_travel` in company. Receives come to stand where the first of their packet does; `order` is numbered anew.
void form_packets(Program& program, const std::function<bool(ChannelId)>& may_travel);

/// One transfer of each channel. A packet takes what a copy of all its bytes takes: the first value of it bears the latency.
IdVector<ChannelId, double> channel_seconds(const Program& program, const CostedProblem& costed);

/// One packet less than its values by themselves.
double saved_seconds(const Program& program, const CostedProblem& costed, PacketId packet);

}  // namespace cleave::planner
