// What is said of channels that are deeper than the default, or would be if memory allowed.
#pragma once

#include <string>

#include "partitioner/compile.h"

namespace cleave::planner {

/// "room for 7": of a transfer. Empty: it has as much as any.
std::string depth_phrase(const Channel& channel);
/// The channel's entry in the list of those that memory limits; null: it is none of them.
const LimitedDepth* limited_depth(const Plan& plan, ChannelId channel);
/// "memory has room for 5 values of `loss` on their way, and 12 would be needed: a run takes 0.12 s longer". Empty: memory limits none.
std::string limited_depths_phrase(const Plan& plan);
/// The host's longest work in the loops around the channel, outside of the channel's own region: what comes now and then. None: there is
/// none.
NodeId burst_beside(const Plan& plan, const Channel& channel);

}  // namespace cleave::planner
