// KernelOrder: a topological order of the kernels of each region, maintained while kernels are united. Two kernels must never depend on
// each other, directly or through others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/dataflow.h"

namespace cleave::planner {

/// A kernel is named by any of its operations.
class KernelOrder {
 public:
  KernelOrder(const Graph& graph, const Dataflow& dataflow);

  /// Adds `node` as a kernel by itself at the end of its region, if it is in none yet. All nodes that precede it must have been added.
  void add(NodeId node);

  /// A way to unite kernels.
  struct Union {
    std::vector<NodeId> kernels;  ///< the kernels to unite; the first in the order is first
    std::vector<NodeId> moved;    ///< kernels that must move in front of it, in order
  };
  /// How to unite the kernels of `nodes`, which are of one region; null if another kernel depends on one of them and another of them
  /// depends on it. One of the nodes may be in no kernel yet, if all nodes that precede it are. Does not change the order; the result is
  /// valid until the next search.
  const Union* find_union(std::span<const NodeId> nodes);
  void unite(const Union& found);

 private:
  static constexpr std::size_t kMostSearched = 512;  ///< limit on kernels visited; if a search would need more, the kernels are not united
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
  std::vector<NodeId> first_;                 ///< by node: the representative operation of its kernel
  std::vector<std::vector<NodeId>> members_;  ///< by representative: the kernel's operations; empty: the representative alone
  std::vector<std::uint64_t> place_;          ///< by representative: a number that increases along the order
  std::vector<NodeId> next_, before_;         ///< by representative: its neighbors in the order
  IdVector<RegionId, Ends> ends_;
  std::vector<std::uint32_t> searched_;  ///< by representative: the number of the last search that reached it
  std::uint32_t search_ = 0;
  Union found_;  ///< result of the last search
};

}  // namespace cleave::planner
