// shrink(): removes vertices whose side is already decided. Gives the smaller network of the open vertices, and the cost of the decisions.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {

enum class Decided : std::uint8_t { open, source, sink };

struct ShrunkNetwork {
  CutNetwork network;                ///< of the open vertices
  std::vector<std::int32_t> vertex;  ///< per vertex of `network`: its number in the original
  std::int64_t constant = 0;  ///< cost of the decisions alone: terminal arcs of decided vertices, and arcs between them, that are cut
};

ShrunkNetwork shrink(const CutNetwork& network, const std::vector<Decided>& decided);

}  // namespace cleave::planner
