// latency_pieces(): cuts a linear order of the classes into pieces for accelerators, with classes on the host between them, for the time
// of one run.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/latency_rule.h"

namespace cleave::planner {

/// By what the cuts of a prefix of the order are compared.
enum class PrefixMeasure : std::uint8_t {
  finish,   ///< the time when all of it is done
  critical  ///< that time with the least work that still follows
};

/// The device of each class. Each accelerator takes one piece, in the order of their numbers. A dynamic program over prefixes that keeps
/// one cut a prefix and number of used accelerators: O(devices m^2) for m classes. It is exact for chains; elsewhere a prefix that is done
/// earlier may be the worse one. Orders of many classes are first cut into blocks. Empty if no cut fits.
std::vector<std::int32_t> latency_pieces(const LatencyGraph& graph, const std::vector<std::int32_t>& order, PrefixMeasure measure);

}  // namespace cleave::planner
