// Placement problems shaped like real programs, of any size: what the solver is measured and stress-tested on. Equal seeds, equal problems.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "partitioner/solver/problem.h"

namespace cleave::bench {

using namespace planner;

enum class Family : std::uint8_t {
  training,  ///< a training loop: towers with skips and normalisation, shared masks, backward pass, optimizer, host input and prints
  training_slow_link,  ///< the same, bound by transfers
  training_fused,      ///< training, its element-wise neighbours as one kernel on either side
  training_slow_link_fused,
  layered,    ///< random layers, costs without pattern
  recurrent,  ///< an unrolled recurrent grid with weights shared by all steps: long paths
  contested,  ///< transfers dominate, and pins on both sides pull: hardly anything decides itself
  hub,        ///< transfers dominate, every operation reads one value, and nothing is pinned
};

std::span<const Family> all_families();
std::string_view to_string(Family family);
std::optional<Family> parse_family(std::string_view name);

/// About `operations` nodes.
PlacementProblem make_problem(Family family, std::int32_t operations, std::uint64_t seed = 1);

}  // namespace cleave::bench
