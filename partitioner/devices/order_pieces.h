// cut_order(): the best way to cut one linear order of groups into pieces, one a device, by an exact dynamic program.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/load_graph.h"

namespace cleave::planner {

struct OrderPieces {
  std::vector<std::int32_t> device_of;  ///< per group; empty if no cut fits
  double busiest = 0;                   ///< the largest load
};

/// Accelerators take pieces in the order of their numbers; the host may take one piece anywhere. Exact for this order and these rules in
/// O(devices m^2) for m groups; orders of more than 1,500 groups are first cut into 1,500 blocks of about equal work.
OrderPieces cut_order(const LoadGraph& graph, const std::vector<std::int32_t>& order);

}  // namespace cleave::planner
