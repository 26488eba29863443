// Texts about channels that are deeper than the default, or would be if memory allowed.
#pragma once

#include <string>

#include "partitioner/plan.h"

namespace cleave::planner {

/// "room for 7", for a transfer. Empty if its channel has the default depth.
std::string depth_phrase(const Channel& channel);
/// The channel's entry in the list of those that memory limits, or null.
const LimitedDepth* limited_depth(const Plan& plan, ChannelId channel);
/// "memory has room for 5 values of `loss` on their way, and 12 would be needed: a run takes 0.12 s longer". Empty if memory limits none.
std::string limited_depths_phrase(const Plan& plan);
/// The longest host operation in the loops around the channel that is outside the channel's own region, and so is executed in some
/// iterations only. None if there is none.
NodeId burst_beside(const Plan& plan, const Channel& channel);

}  // namespace cleave::planner
