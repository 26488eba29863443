// KernelOrder: an order in which the kernels of each region can run one after the other, kept while operations are put together. Two
// kernels must not wait for each other, through others neither: then what one needs of the other would not be there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/dataflow.h"

namespace cleave::planner {

/// A kernel is named by any of its operations.
class KernelOrder {
 public:
  KernelOrder(const Graph& graph, const Dataflow& dataflow);

  /// `node` is a kernel by itself, the last one of its region, if it is in none yet. All that comes before it is there.
  void add(NodeId node);

  /// How kernels become one.
  struct Union {
    std::vector<NodeId> kernels;  ///< the first of them in the order comes first
    std::vector<NodeId> moved;    ///< kernels that have to move to its front, in order
  };
  /// Null if the kernels of `nodes`, of one region, cannot become one, since something else waits for one of them and is waited for by
  /// another. One of the nodes may be in no kernel yet, if all that comes before it is. The order does not change; what is found is valid
  /// until the next search.
  const Union* find_union(std::span<const NodeId> nodes);
  void unite(const Union& found);

 private:
  static constexpr std::size_t kMostSearched = 512;  ///< kernels; where more would have to be looked at, none are put together
  static constexpr std::uint64_t kStride = std::uint64_t{1} << 32;

  struct Ends {
    NodeId first, last;
  };

  [[nodiscard]] bool is_new(NodeId node) const { return !first_[node.index]; }
  [[nodiscard]] Ends& ends_of(NodeId kernel) { return ends_[graph_.nodes[kernel].region]; }
  void link_before(NodeId kernel, NodeId next);
  void unlink(NodeId kernel);
  void number_anew(NodeId first);

  const Graph& graph_;
  const Dataflow& dataflow_;
  std::vector<NodeId> first_;                 ///< by node: the operation that its kernel is known by
  std::vector<std::vector<NodeId>> members_;  ///< by such an operation; empty: it alone
  std::vector<std::uint64_t> place_;          ///< by such an operation: grows along the order
  std::vector<NodeId> next_, before_;         ///< by such an operation
  IdVector<RegionId, Ends> ends_;
  std::vector<std::uint32_t> searched_;  ///< by such an operation: in which search it was last found
  std::uint32_t search_ = 0;
  Union found_;  ///< by the last search
};

}  // namespace cleave::planner
