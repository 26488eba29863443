// Coalesces transfers of small values (CoalescedTransfer, program.h). coalesce_transfers() groups values of at most 64 KiB together that
// one device sends to another in adjacent steps, with nothing between them that the sender could wait for. This can only lower the cost of
// transfers, and adds no deadlock: a coalesced transfer is sent where its first value would have been sent anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

inline constexpr std::int64_t kMostCoalescedBytes = 64 << 10;
inline constexpr std::size_t kMostCoalescedValues = 64;
inline constexpr std::int64_t kCoalescedAlignment = 16;  ///< in bytes, of each value in a coalesced transfer

/// Forms coalesced transfers of values whose channels pass `may_travel`. The receives of a coalesced transfer move to where its first one
/// is, and `order` is renumbered.
void coalesce_transfers(Program& program, const std::function<bool(ChannelId)>& may_travel);

/// Seconds of one transfer on each channel. The values of a coalesced transfer together take as long as one copy of its bytes: the first
/// value of it includes the latency.
IdVector<ChannelId, double> channel_seconds(const Program& program, const CostedProblem& costed);

/// The time that one execution of a coalesced transfer saves over separate transfers of its values.
double saved_seconds(const Program& program, const CostedProblem& costed, CoalescedId coalesced);

}  // namespace cleave::planner
