// make_network() and make_flow(): a PlacementProblem as a network, arc by arc as docs/placement.md formulates it. Each class of nodes has
// two variables (on the host; not on the accelerator). Where they must be equal they share one vertex, and where a pin decides them they
// are constants. A transfer that serves several uses has an auxiliary vertex.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/flow/flow_network.h"
#include "partitioner/flow/min_cut.h"
#include "partitioner/solver/capacity_scale.h"
#include "partitioner/solver/contract.h"
#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// Maps decisions to vertices.
struct PlacementVariables {
  /// Instead of a vertex: the variable is already decided.
  static constexpr std::int32_t kSource = -1, kSink = -2;

  std::vector<std::int32_t> host_vertex;         ///< per class; a vertex on the source's side means a copy on the host
  std::vector<std::int32_t> accelerator_vertex;  ///< per class; a vertex on the source's side means no copy on the accelerator
  std::int64_t constant = 0;                     ///< cost that every cut has
};
struct PlacementNetwork : PlacementVariables {
  CutNetwork cut;
};
/// The same network in the layout of the solver on flat arrays, built without an intermediate list of arcs, which halves the memory.
struct PlacementFlow : PlacementVariables {
  FlowNetwork flow;
};

PlacementNetwork make_network(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                              const CapacityScale& scale);
PlacementFlow make_flow(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                        const CapacityScale& scale);

}  // namespace cleave::planner
