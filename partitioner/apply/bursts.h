// Bursts: loops whose trips differ in what they take, since a branch or a loop inside them, or work behind them, comes now and then. There
// the pace of an average trip does not tell how many values a channel has to hold.
#pragma once

#include <cstdint>
#include <optional>

#include "partitioner/apply/program.h"

namespace cleave::planner {

struct Bursts {
  IdVector<NodeId, int> trips;                ///< by loop: so many are followed at most
  IdVector<NodeId, int> period;               ///< by loop: after so many trips all is as before
  IdVector<NodeId, std::uint8_t> whole_arms;  ///< by branch: one arm is taken each time
};

/// Nothing: no values cross in a loop with bursts, or the program is too large to follow them.
std::optional<Bursts> find_bursts(const Program& program);

}  // namespace cleave::planner
