// First step of the solver: nodes that must go together become one class, with one pin. Finds pins that contradict each other.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

struct Contraction {
  struct Class {
    PlacementProblem::Pin pin = PlacementProblem::Pin::none;
    bool replicable = true;              ///< all of its nodes are
    bool keep_accelerator_copy = false;  ///< one of its nodes has to
  };
  std::vector<std::int32_t> class_of;  ///< per node
  std::vector<Class> classes;          ///< in the order of their first nodes; after normalisation keep implies replicable and no pin
};

/// An Error that names the chain of causes if pins contradict each other.
Result<Contraction> contract(const PlacementProblem& problem);

}  // namespace cleave::planner
