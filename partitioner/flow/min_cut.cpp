// min_cut() selects a solver. relieve() computes how much the cut's value falls when one source capacity falls, by a local repair of the
// flow.
#include "partitioner/flow/min_cut.h"

#include <algorithm>

#include "partitioner/flow/flow_network.h"

namespace cleave::planner {
namespace {

/// Repairs a maximum flow for one reduced source capacity at a time, and restores it afterwards.
class Repair {
 public:
  Repair(FlowNetwork& network, const std::vector<bool>& source_side)
      : network_(network),
        vertices_(network.vertices),
        arcs_(network.arcs),
        source_side_(source_side),
        towards_(network.vertices.size(), FlowNetwork::kNone) {}
  /// How much the cut's value falls if the source capacity of a vertex falls from `now` to that of the relief.
  std::int64_t saving(std::int64_t now, const Relief& relief);

 private:
  std::int32_t find_supply(std::int32_t vertex);

  FlowNetwork& network_;
  std::vector<FlowNetwork::Vertex>& vertices_;
  std::vector<FlowNetwork::Arc>& arcs_;
  const std::vector<bool>& source_side_;
  std::vector<std::int32_t> towards_;  ///< set by find_supply(): the arc of each reached vertex towards the vertex that lacks flow
  std::vector<std::int32_t> reached_;  ///< set by find_supply(): the vertices with such an arc
};

/// The nearest vertex that the source can still supply and from which flow can reach `vertex`. The sink's side holds none, since the flow
/// could be increased otherwise. Leaves the path in `towards_`.
std::int32_t Repair::find_supply(std::int32_t vertex) {
  if (towards_.empty()) towards_.assign(vertices_.size(), FlowNetwork::kNone);
  for (const std::int32_t v : reached_) towards_[v] = FlowNetwork::kNone;
  reached_.assign(1, vertex);
  towards_[vertex] = FlowNetwork::kRoot;
  for (std::size_t next = 0; next < reached_.size(); ++next) {
    const std::int32_t v = reached_[next];
    for (std::int32_t a = vertices_[v].first; a < vertices_[v + 1].first; ++a) {
      const std::int32_t head = arcs_[a].head, back = arcs_[a].reverse;
      if (towards_[head] != FlowNetwork::kNone || arcs_[back].residual == 0 || !source_side_[head]) continue;
      towards_[head] = back;
      reached_.push_back(head);
      if (vertices_[head].excess > 0) return head;
    }
  }
  return FlowNetwork::kNone;
}

/// With a smaller source capacity the vertex sends out more flow than it receives. The part that other vertices can supply instead saves
/// nothing; the saving is the part that they cannot.
std::int64_t Repair::saving(std::int64_t now, const Relief& relief) {
  const std::int64_t supplied = now - std::max<std::int64_t>(vertices_[relief.vertex].excess, 0);
  std::int64_t missing = supplied - relief.source_capacity;
  struct Push {
    std::int32_t arc, from;  ///< one of the two: an arc, or the vertex whose supply from the source was used
    std::int64_t amount;
  };
  std::vector<Push> done;
  while (missing > 0) {
    const std::int32_t supply = find_supply(relief.vertex);
    if (supply == FlowNetwork::kNone) break;
    std::int64_t amount = std::min(missing, vertices_[supply].excess);
    for (std::int32_t v = supply; v != relief.vertex; v = arcs_[towards_[v]].head) amount = std::min(amount, arcs_[towards_[v]].residual);
    for (std::int32_t v = supply; v != relief.vertex; v = arcs_[towards_[v]].head) {
      network_.push_over(towards_[v], amount);
      done.push_back({towards_[v], FlowNetwork::kNone, amount});
    }
    vertices_[supply].excess -= amount;
    done.push_back({FlowNetwork::kNone, supply, amount});
    missing -= amount;
  }
  for (const Push& push : done) {
    if (push.arc == FlowNetwork::kNone) {
      vertices_[push.from].excess += push.amount;
      continue;
    }
    network_.push_over(push.arc, -push.amount);
  }
  return std::max<std::int64_t>(missing, 0);
}

}  // namespace

Cut min_cut_flat(const CutNetwork& network) {
  FlowNetwork flow = flow_network(network);
  push_all(flow);
  return {flow.flow, flow.largest_source_side()};
}

Relieved relieve(const CutNetwork& network, const std::vector<Relief>& reliefs) {
  FlowNetwork flow = flow_network(network);
  push_all(flow);
  const std::vector<bool> source_side = flow.largest_source_side();
  Relieved result{flow.flow, {}};
  Repair repair(flow, source_side);
  for (const Relief& relief : reliefs) result.savings.push_back(repair.saving(network.source_capacity[relief.vertex], relief));
  return result;
}

Cut min_cut(const CutNetwork& network, Solver solver) {
  return solver == Solver::boost ? min_cut_boost(network) : min_cut_flat(network);
}

}  // namespace cleave::planner
