// Bursts: loops whose iterations differ in length, because a branch or an inner loop is executed in some of them only. For these the
// average iteration does not tell how many values a channel must hold, so find_bursts() says how many iterations to simulate.
#pragma once

#include <cstdint>
#include <optional>

#include "partitioner/apply/program.h"

namespace cleave::planner {

struct Bursts {
  IdVector<NodeId, int> trips;                ///< by loop: the most iterations to simulate
  IdVector<NodeId, int> period;               ///< by loop: the number of iterations after which the pattern repeats
  IdVector<NodeId, std::uint8_t> whole_arms;  ///< by branch: simulate one arm in full each time, instead of both weighted by probability
};

/// Empty if no value is transferred in a loop with bursts, or if the program is too large to simulate its bursts.
std::optional<Bursts> find_bursts(const Program& program);

}  // namespace cleave::planner
