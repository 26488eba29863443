// same_program: structural equality of two graphs, for tests that C++ and YAML give the same graph, and of the text form.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Same program: equal structure, ops, attributes and types. Names, source locations and limits are not compared.
bool same_program(const Graph& a, const Graph& b);

}  // namespace cleave
