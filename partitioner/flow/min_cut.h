// Exact s-t minimum cut on integers; the door is min_cut(). Knows nothing of tensors or placement. Two solvers give the same value and, by
// the canonical residual search, the same cut: the one with the largest source side (so that the accelerator side, the sink's, is
// smallest).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::planner {

/// A capacitated network. Vertices are 0..vertices-1; the terminals are folded into per-vertex capacities.
struct CutNetwork {
  struct Arc {
    std::int32_t from = 0, to = 0;
    std::int64_t capacity = 0;          ///< from -> to
    std::int64_t reverse_capacity = 0;  ///< to -> from
  };
  std::vector<std::int64_t> source_capacity;  ///< source -> vertex
  std::vector<std::int64_t> sink_capacity;    ///< vertex -> sink
  std::vector<Arc> arcs;

  [[nodiscard]] std::int32_t vertices() const { return static_cast<std::int32_t>(source_capacity.size()); }
};

struct Cut {
  std::int64_t value = 0;         ///< value of the minimum cut, which equals the maximum flow
  std::vector<bool> source_side;  ///< per vertex: whether it is on the source's side of the canonical minimum cut
};

enum class Solver : std::uint8_t { flat, boost };

Cut min_cut(const CutNetwork& network, Solver solver = Solver::flat);
/// Search trees on flat arrays (partitioner/flow/flow_network.h).
Cut min_cut_flat(const CutNetwork& network);
/// A vertex whose source capacity is to be reduced.
struct Relief {
  std::int32_t vertex = 0;
  std::int64_t source_capacity = 0;
};
/// How much the value of the minimum cut falls for each relief alone. The network is solved once; each relief is then a local repair of its
/// flow.
struct Relieved {
  std::int64_t value = 0;             ///< value of the minimum cut without any relief
  std::vector<std::int64_t> savings;  ///< one a relief
};
Relieved relieve(const CutNetwork& network, const std::vector<Relief>& reliefs);
/// Boost.Graph's Boykov-Kolmogorov on a compressed sparse row graph.
Cut min_cut_boost(const CutNetwork& network);

}  // namespace cleave::planner
