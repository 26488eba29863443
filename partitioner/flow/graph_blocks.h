// find_blocks(): the blocks (biconnected components) of an undirected graph. A block is a single edge, or a set of edges any two of which
// lie on a common cycle (J. Hopcroft and R. Tarjan, Algorithm 447: efficient algorithms for graph manipulation, 1973).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cleave::planner {

struct GraphBlocks {
  std::size_t count = 0;
  std::vector<std::size_t> of_edge;  ///< index of the block that each edge belongs to
  /// By vertex: discovery time in the depth-first search. A block is attached to earlier blocks at its earliest vertex.
  std::vector<std::size_t> discovered;
};

/// Vertices are 0 to `vertices` - 1. Parallel edges belong to one block.
GraphBlocks find_blocks(std::size_t vertices, const std::vector<std::pair<std::size_t, std::size_t>>& edges);

}  // namespace cleave::planner
