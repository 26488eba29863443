// The blocks of an undirected graph: its biconnected components, in each of which any two edges lie on a common cycle, or which are one
// edge (J. Hopcroft and R. Tarjan, Algorithm 447: efficient algorithms for graph manipulation, 1973).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cleave::planner {

struct GraphBlocks {
  std::size_t count = 0;
  std::vector<std::size_t> of_edge;     ///< which block each edge belongs to
  std::vector<std::size_t> discovered;  ///< by vertex: when the depth-first search came there; in a block the first is the one it hangs on
};

/// Vertices are 0 to `vertices` - 1. Several edges between two vertices are one block with them.
GraphBlocks find_blocks(std::size_t vertices, const std::vector<std::pair<std::size_t, std::size_t>>& edges);

}  // namespace cleave::planner
