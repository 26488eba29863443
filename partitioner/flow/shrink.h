// A network with some vertices already decided: the smaller network that is left, and what the decisions cost.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {

enum class Decided : std::uint8_t { open, source, sink };

struct ShrunkNetwork {
  CutNetwork network;                ///< of the open vertices
  std::vector<std::int32_t> vertex;  ///< in the original, per vertex here
  std::int64_t constant = 0;         ///< paid for the decided vertices alone
};

ShrunkNetwork shrink(const CutNetwork& network, const std::vector<Decided>& decided);

}  // namespace cleave::planner
