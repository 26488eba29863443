// Simple placement rules used by other systems, for comparison with the minimum cut. Each assigns every node one side and obeys pins and
// groups; none makes replicas. evaluate() of partitioner/solver/placement.h computes their costs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::bench {

using namespace planner;

enum class Rule : std::uint8_t {
  all_accelerator,  ///< every node that is not pinned to the host
  all_host,         ///< every node that is not pinned to the accelerator
  node_wise,        ///< each node where it runs faster; transfers count as free
  per_edge,         ///< the minimum cut in which every use pays for a transfer of its own
  priority,  ///< as ONNX Runtime: the accelerator takes all nodes that it supports, except those that only handle small values of the host
  follow_the_weights,  ///< as ggml: an operation runs where its weights are, others where their neighbors in program order are
};

std::span<const Rule> all_rules();
std::string_view to_string(Rule rule);

/// The placement that the rule gives for a valid problem without a memory capacity. An Error if pins contradict each other.
Result<Placement> place_by(Rule rule, const PlacementProblem& problem);

}  // namespace cleave::bench
