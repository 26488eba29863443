// The exhaustive-search oracle of the solver: it tries every placement of a small problem and every way to transfer, with no shortcuts. It
// shares no code with the solver.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/solver/problem.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct BruteForce {
  struct Choice {
    std::vector<std::uint8_t> on_host, on_accelerator;
    double seconds = 0;
  };
  bool feasible = false;
  double seconds = 0;                               ///< the optimum
  std::vector<Choice> optimal;                      ///< all choices within 1e-9 of it
  std::vector<std::uint8_t> fewest_on_accelerator;  ///< the nodes with an accelerator copy in all optimal choices
};

/// Tries every choice of copies; transfers of each value and direction by trying every set of regions.
BruteForce brute_force(const PlacementProblem& problem);
/// The cost of one choice of copies, in seconds.
double brute_force_cost(const PlacementProblem& problem, const std::vector<std::uint8_t>& on_host,
                        const std::vector<std::uint8_t>& on_accelerator);

}  // namespace cleave::testing
