// Checks every rule of graph.h. Run after each pass in debug builds, and on every graph read from a file.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// The rules that `graph` breaks, as sentences that name nodes; empty if it is well formed.
std::vector<std::string> verify(const Graph& graph);

}  // namespace cleave
