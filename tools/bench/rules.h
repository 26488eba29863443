// Simple rules by which programs are placed elsewhere, as something to compare the minimum cut with. Each gives every node one side and
// obeys pins and groups; none makes replicas. What they cost is for partitioner/solver/placement.h's evaluate() to say.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::bench {

using namespace planner;

enum class Rule : std::uint8_t {
  all_accelerator,     ///< whatever is not pinned to the host
  all_host,            ///< whatever is not pinned to the accelerator
  node_wise,           ///< each node where it runs faster, moving is free
  per_edge,            ///< the minimum cut in which every use pays a transfer of its own
  priority,            ///< as ONNX Runtime: the accelerator claims all that it supports, less what only handles small values of the host
  follow_the_weights,  ///< as ggml: an operation runs where its weights are, others where their neighbours in program order are
};

std::span<const Rule> all_rules();
std::string_view to_string(Rule rule);

/// The placement that the rule gives to a valid problem without a memory capacity. An Error if pins contradict each other.
Result<Placement> place_by(Rule rule, const PlacementProblem& problem);

}  // namespace cleave::bench
