// Random placement problems, small enough for exhaustive search and rich in what makes placement hard: nested regions, probabilities, zero
// frequencies, pins, groups, replication, carried cycles, several uses, uses of their own producer. Equal seeds, equal problems.
#pragma once

#include <cstdint>
#include <random>

#include "partitioner/solver/problem.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct RandomProblemOptions {
  int max_nodes = 7;
  int max_regions = 5;
  bool ties = true;  ///< costs are few small binary fractions, so that ties are frequent and sums exact; else arbitrary doubles
  bool groups = true;
  bool keep = true;  ///< generates keep_accelerator_copy
  bool memory = false;
  bool savings = false;  ///< generates savings of nodes that are together on one side
  bool drivers = false;  ///< half of the regions have one, like loops and branches whose conditions the accelerator may evaluate
};

PlacementProblem random_problem(std::uint64_t seed, const RandomProblemOptions& options = {});

/// The same problem with nodes, values and uses in another order; `node_at[i]` is the new index of node i.
PlacementProblem permuted(const PlacementProblem& problem, std::uint64_t seed, std::vector<std::int32_t>& node_at,
                          std::vector<std::int32_t>& value_at);

/// The problem as C++-like text, for failure messages.
std::string describe(const PlacementProblem& problem);

}  // namespace cleave::testing
