// PlacementProblem -> network: the formulation of docs/placement.md, arc by arc. Two variables a class of nodes (on the host; not on the
// accelerator), one vertex where they must be equal, constants where a pin decides; one auxiliary vertex where a transfer serves several.
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

/// Which vertex stands for which decision.
struct PlacementVariables {
  /// In place of a vertex: a variable that is already decided.
  static constexpr std::int32_t kSource = -1, kSink = -2;

  std::vector<std::int32_t> host_vertex;         ///< per class; on the source's side: there is a copy on the host
  std::vector<std::int32_t> accelerator_vertex;  ///< per class; on the source's side: there is no copy on the accelerator
  std::int64_t constant = 0;                     ///< paid in every cut
};
struct PlacementNetwork : PlacementVariables {
  CutNetwork cut;
};
/// The same network as the solver on flat arrays wants it, made without a list of arcs in between: half the memory.
struct PlacementFlow : PlacementVariables {
  FlowNetwork flow;
};

PlacementNetwork make_network(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                              const CapacityScale& scale);
PlacementFlow make_flow(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                        const CapacityScale& scale);

}  // namespace cleave::planner
