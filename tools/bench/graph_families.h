// Placement problems of any size, shaped like real programs, for benchmarks and stress tests of the solver. Equal seeds give equal
// problems.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "partitioner/solver/problem.h"

namespace cleave::bench {

using namespace planner;

enum class Family : std::uint8_t {
  training,  ///< a training loop: towers with skips and normalization, shared masks, backward pass, optimizer, host input and prints
  training_slow_link,  ///< the same, bound by transfers
  training_fused,      ///< training, with element-wise neighbors fused into one kernel on either side
  training_slow_link_fused,
  layered,    ///< random layers with random costs
  recurrent,  ///< an unrolled recurrent grid with weights shared by all steps: long paths
  contested,  ///< transfers dominate, and pins on both sides conflict: hardly any node has an obvious side
  hub,        ///< transfers dominate, every operation reads one common value, and no node is pinned
};

std::span<const Family> all_families();
std::string_view to_string(Family family);
std::optional<Family> parse_family(std::string_view name);

/// Makes a problem of about `operations` nodes.
PlacementProblem make_problem(Family family, std::int32_t operations, std::uint64_t seed = 1);

}  // namespace cleave::bench
