// add_seed: changes the random numbers of a program, for `--seed`.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// `graph` with `n` added to every `seed` attribute of parameters and ops (wrapping).
Graph add_seed(const Graph& graph, std::int64_t n);

}  // namespace cleave
