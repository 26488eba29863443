// One pass in program order computes for each copy of a value the earliest time at which it can be available. A time records the carried
// node at which its chain begins. If the chain of a yielded value begins at the carried value that it becomes, the chain repeats in every
// iteration.
#include "partitioner/apply/elapsed_bounds.h"

#include <algorithm>
#include <utility>

#include "graph/states.h"
#include "partitioner/apply/coalesce.h"

namespace cleave::planner {
namespace {

constexpr std::int64_t kNowhere = -1;

struct Time {
  double at = 0;
  std::int64_t origin = kNowhere;  ///< 2 * carried node + side
};

/// Computes the longest chain of dependent computations and transfers.
class CriticalPath {
 public:
  CriticalPath(const Graph& graph, const CostedProblem& costed, const Placement& placement)
      : graph_(graph),
        problem_(costed.problem),
        copies_{&placement.on_host, &placement.on_accelerator},
        seconds_{execution_seconds(problem_, placement.on_host, placement.on_accelerator, kHost),
                 execution_seconds(problem_, placement.on_host, placement.on_accelerator, kAccelerator)} {
    for (std::size_t side = 0; side < 2; ++side) {
      times_[side].resize(graph.values.size());
      initial_[side].resize(graph.nodes.size());
    }
  }

  double run() {
    find_loop_ends();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (std::size_t side = 0; side < 2; ++side) {
        if ((*copies_[side])[i]) visit(NodeId(i), side);
      }
      for (const NodeId carried : ending_[i]) {
        for (std::size_t side = 0; side < 2; ++side) {
          if ((*copies_[side])[carried.index]) leave_loop(carried, side);
        }
      }
    }
    const std::vector<bool> followed = followed_outputs(graph_);
    for (std::size_t i = 0; i < followed.size(); ++i)
      if (!followed[i]) reach(time_of(graph_.outputs[i].value, 0));
    return longest_;
  }

 private:
  /// Finds the node after which the final values of a loop's carried nodes are known. If several loops end there, the inner ones come
  /// first.
  void find_loop_ends() {
    ending_.resize(graph_.nodes.size());
    std::vector<std::uint32_t> last(graph_.nodes.size(), 0);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (node.kind != NodeKind::carried) continue;
      const Value& yielded = graph_.values[node.inputs[1]];
      const bool of_inner_loop = graph_.nodes[yielded.producer].kind == NodeKind::carried && yielded.result == 1;
      last[i] = std::max(static_cast<std::uint32_t>(i), of_inner_loop ? last[yielded.producer.index] : yielded.producer.index);
      ending_[last[i]].push_back(NodeId(i));
    }
  }

  [[nodiscard]] Time time_of(ValueId value, std::size_t side) const {
    const std::uint32_t producer = graph_.values[value].producer.index;
    if ((*copies_[side])[producer]) return times_[side][value.index];
    Time time = times_[1 - side][value.index];
    const PlacementProblem::Value& cost = problem_.values[value.index];
    time.at += side == 0 ? cost.accelerator_to_host_seconds : cost.host_to_accelerator_seconds;
    return time;
  }

  void visit(NodeId id, std::size_t side) {
    const Node& node = graph_.nodes[id];
    if (is_control(node.kind)) return;
    Time time;
    if (node.kind == NodeKind::carried) {
      initial_[side][id.index] = time = time_of(node.inputs[0], side);
      times_[side][node.results[0].index] = {time.at, 2 * static_cast<std::int64_t>(id.index) + static_cast<std::int64_t>(side)};
      return;
    }
    if (node.kind == NodeKind::merge) {
      time = merged(node, side);
    } else {
      for (const ValueId input : node.inputs) {
        const Time there = time_of(input, side);
        if (there.at > time.at || (there.at == time.at && time.origin == kNowhere)) time = there;
      }
      time.at += seconds_[side][id.index];
    }
    for (const ValueId result : node.results) times_[side][result.index] = time;
    if (node.region == Graph::kRoot) reach(time);
  }

  /// The expected time of a merge. Its chain is known only if both arms have the same one.
  [[nodiscard]] Time merged(const Node& node, std::size_t side) const {
    const double then = graph_.nodes[node.owner].expected;
    const Time a = time_of(node.inputs[0], side), b = time_of(node.inputs[1], side);
    return {then * a.at + (1 - then) * b.at, a.origin == b.origin ? a.origin : kNowhere};
  }

  void leave_loop(NodeId id, std::size_t side) {
    const Node& node = graph_.nodes[id];
    const Time& initial = initial_[side][id.index];
    const Time yielded = time_of(node.inputs[1], side);
    const double trips = graph_.nodes[node.owner].expected, once = std::max(0.0, yielded.at - initial.at);
    const bool repeats = yielded.origin == 2 * static_cast<std::int64_t>(id.index) + static_cast<std::int64_t>(side);
    Time after{initial.at + (repeats ? trips : std::min(trips, 1.0)) * once, initial.origin};
    // A chain with another origin begins before the loop, but its contribution to a chain around this loop is unknown.
    if (!repeats && once > 0) after.origin = kNowhere;
    times_[side][node.results[1].index] = after;
    if (graph_.nodes[node.owner].region == Graph::kRoot) reach(after);
  }

  void reach(const Time& time) { longest_ = std::max(longest_, time.at); }

  const Graph& graph_;
  const PlacementProblem& problem_;
  const std::vector<std::uint8_t>* copies_[2];
  const std::vector<double> seconds_[2];     ///< one execution of each node
  std::vector<Time> times_[2];               ///< by side and value, if it has a copy there
  std::vector<Time> initial_[2];             ///< by side and carried node
  std::vector<std::vector<NodeId>> ending_;  ///< by the last node before the end
  double longest_ = 0;
};

}  // namespace

std::string_view to_string(Resource resource) {
  switch (resource) {
    case Resource::host: return "the host";
    case Resource::accelerator: return "the accelerator";
    case Resource::to_accelerator: return "copies to the accelerator";
    case Resource::to_host: break;
  }
  return "copies to the host";
}

ElapsedBounds find_elapsed_bounds(const Program& program, const CostedProblem& costed, const Placement& placement,
                                  const Transfers& transfers) {
  double busy[4]{}, called = 0;  // `called`: work of the workers
  IdVector<NodeId, std::uint8_t> ahead(program.graph->nodes.size(), 0);
  for (const Producer& producer : program.producers)
    for (const NodeId node : producer.nodes) ahead[node] = 1;
  for (const DeviceId side : {kHost, kAccelerator}) {
    const std::vector<double> seconds = execution_seconds(costed.problem, placement.on_host, placement.on_accelerator, side);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double all = costed.problem.regions[costed.problem.nodes[i].region].frequency * seconds[i];
      if (!placement.has_copy(i, side)) continue;
      const bool known = i < program.graph->nodes.size();
      if (known && side == kHost && ahead[NodeId(i)]) {
        called += all;
        continue;
      }
      const auto how = known ? beside(program, NodeId(i)) : HostFunction::Beside::never;
      if (how == HostFunction::Beside::never) busy[side.index] += all;
      if (how == HostFunction::Beside::on_worker) called += all;
    }
  }
  busy[kHost.index] = std::max(busy[kHost.index], called / std::max(1, program.workers));
  const IdVector<ChannelId, double> copies = channel_seconds(program, costed);
  for (std::size_t c = 0; c < copies.size(); ++c) {
    const Transfer& transfer = transfers.items[program.channels[ChannelId(c)].transfer];
    busy[transfer.to == kHost ? 3 : 2] += transfer.frequency * copies[ChannelId(c)];
  }
  ElapsedBounds bounds;
  const auto most = std::max_element(busy, busy + 4) - busy;
  bounds.busiest = static_cast<Resource>(most);
  bounds.busiest_seconds = busy[most];
  bounds.critical_path_seconds = CriticalPath(*program.graph, costed, placement).run();
  return bounds;
}

}  // namespace cleave::planner
