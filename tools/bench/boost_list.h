// A baseline solver that is generally available: Boost.Graph's Boykov-Kolmogorov on an adjacency_list. For comparison only.
#pragma once

#include <cstdint>

#include "partitioner/flow/min_cut.h"

namespace cleave::bench {

using namespace planner;

/// The value of the minimum cut.
std::int64_t min_cut_boost_list(const CutNetwork& network);

}  // namespace cleave::bench
