// FlowNetwork: a network with a flow in it, in the layout that the solvers need: vertices and arcs in flat arrays, the arcs of a vertex
// contiguous, residual capacities, and both terminals folded into one signed number per vertex. FlowBuilder builds one in two equal passes
// over a description, so that the description never has to be in memory as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {

struct FlowNetwork {
  static constexpr std::int32_t kFree = 0;   ///< label of a vertex in neither tree
  static constexpr std::int32_t kNone = -1;  ///< instead of a parent arc: the vertex is an orphan, or in no tree
  static constexpr std::int32_t kRoot = -2;  ///< instead of a parent arc: the parent is the tree's terminal

  struct Arc {
    std::int32_t head = 0;
    std::int32_t reverse = 0;
    std::int64_t residual = 0;
  };
  /// The solvers grow two trees, one from the source and one to the sink. Beyond the sign of a label, each solver gives labels and notes
  /// its own meaning.
  struct Vertex {
    std::int32_t first = 0;       ///< index of its first arc; its arcs end at the next vertex's first
    std::int32_t parent = kNone;  ///< the arc to the parent
    std::int32_t label = kFree;   ///< positive: in the source's tree, negative: in the sink's
    std::int32_t note = 0;
    std::int64_t excess = 0;  ///< positive: residual capacity from the source; negative: residual capacity to the sink
  };

  std::vector<Vertex> vertices;  ///< the vertices, then a sentinel that ends the last vertex's arcs
  std::vector<Arc> arcs;
  std::int64_t flow = 0;

  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(vertices.size()) - 1; }
  /// The residual capacity between a vertex and its parent over `arc` (vertex to parent), in the direction in which that tree carries flow.
  [[nodiscard]] std::int64_t& tree_residual(std::int32_t arc, std::int32_t sign) {
    return arcs[sign > 0 ? arcs[arc].reverse : arc].residual;
  }
  void push_over(std::int32_t arc, std::int64_t amount) {
    arcs[arc].residual -= amount;
    arcs[arcs[arc].reverse].residual += amount;
  }
  /// The canonical minimum cut once the flow is maximum: every vertex except those from which the sink can still be reached.
  [[nodiscard]] std::vector<bool> largest_source_side() const;
};

class FlowBuilder {
 public:
  std::int32_t add_vertex();
  void add_terminals(std::int32_t vertex, std::int64_t source, std::int64_t sink);
  void add_arc(std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse);
  /// Ends the first pass, which only counts. The second must repeat it call by call.
  void fill();
  FlowNetwork finish();

 private:
  bool filling_ = false;
  std::int32_t next_ = 0;
  __int128 terminals_ = 0;
  FlowNetwork result_;
};

FlowNetwork flow_network(const CutNetwork& network);

/// Makes the flow maximal by search trees that are kept from one augmenting path to the next. Gives up and returns false after more than
/// `patience` arc visits per vertex and arc of the network; the flow is then valid, but perhaps not maximal.
bool push_by_kept_trees(FlowNetwork& network, double patience);
/// Makes the flow maximal by incremental breadth-first search, whose work is bounded on every network.
void push_by_levels(FlowNetwork& network);
/// Makes the flow maximal by kept trees; if these run out of patience, by levels on the network without its leaves
/// (partitioner/flow/leaf_folding.h).
void push_all(FlowNetwork& network);

}  // namespace cleave::planner
