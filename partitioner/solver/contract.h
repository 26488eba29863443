// contract(): the first step of the solver. Nodes that must be on the same side become one class with one pin. Finds pins that contradict
// each other.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

struct Contraction {
  struct Class {
    PlacementProblem::Pin pin = PlacementProblem::Pin::none;
    bool replicable = true;              ///< true if all of its nodes are replicable
    bool keep_accelerator_copy = false;  ///< true if one of its nodes must keep a copy there
  };
  std::vector<std::int32_t> class_of;  ///< per node
  std::vector<Class> classes;          ///< in the order of their first nodes; keep_accelerator_copy implies replicable and no pin
};

/// An Error that names the chain of causes if pins contradict each other.
Result<Contraction> contract(const PlacementProblem& problem);

}  // namespace cleave::planner
