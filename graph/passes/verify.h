// Checks every rule of graph.h. Run after each pass in debug builds, and on every graph read from a file.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A violated rule: a sentence that names nodes, and the nearest node or output.
struct Finding {
  std::string sentence;
  NodeId node;      ///< none: an output, or the graph as a whole
  int output = -1;  ///< index into Graph::outputs
};
/// All violations, at most a hundred; empty if `graph` is well formed.
std::vector<Finding> find_broken_rules(const Graph& graph);

/// The sentences alone.
std::vector<std::string> verify(const Graph& graph);

}  // namespace cleave
