// The solver that is at hand for everybody: Boykov-Kolmogorov of Boost.Graph on an adjacency_list. Only to compare with.
#pragma once

#include <cstdint>

#include "partitioner/flow/min_cut.h"

namespace cleave::bench {

using namespace planner;

/// The value of the minimum cut.
std::int64_t min_cut_boost_list(const CutNetwork& network);

}  // namespace cleave::bench
