#include "partitioner/apply/bursts.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cleave::planner {
namespace {

constexpr double kMostBurstSteps = 4e4;      ///< most steps to simulate
constexpr int kPeriods = 3;                  ///< periods to simulate of each loop
constexpr int kSteadyTrips = 5;              ///< iterations to simulate of loops without bursts
constexpr int kInnerTrips = 2 * kMostDepth;  ///< iterations to simulate of nested loops
constexpr double kLongestPeriod = 1e4;

/// Finds the loops with bursts and chooses the iterations to simulate within a budget of steps.
class BurstFinder {
 public:
  explicit BurstFinder(const Program& program)
      : program_(program),
        graph_(*program.graph),
        bursts_{IdVector<NodeId, int>(graph_.nodes.size(), kSteadyTrips), IdVector<NodeId, int>(graph_.nodes.size(), 1),
                IdVector<NodeId, std::uint8_t>(graph_.nodes.size(), 0)},
        loop_of_(graph_.regions.size()) {}

  std::optional<Bursts> run() {
    for (std::size_t r = 1; r < graph_.regions.size(); ++r) {
      const Region& region = graph_.regions[RegionId(r)];
      loop_of_[RegionId(r)] = is_loop(region.owner) ? region.owner : loop_of_[region.parent];
    }
    if (!cross_in_bursts()) return std::nullopt;
    find_trips();
    if (!shorten()) return std::nullopt;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId loop = loop_of_[graph_.nodes[NodeId(n)].region];
      if (bursts_with(NodeId(n)) && bursts_.trips[loop] >= std::min(trips(loop), 2.0 * bursts_.period[loop]))
        bursts_.whole_arms[NodeId(n)] = 1;
    }
    return std::move(bursts_);
  }

 private:
  [[nodiscard]] bool is_loop(NodeId node) const {
    const NodeKind kind = graph_.nodes[node].kind;
    return kind == NodeKind::for_loop || kind == NodeKind::while_loop;
  }
  [[nodiscard]] double trips(NodeId loop) const { return std::max(1.0, graph_.nodes[loop].expected); }
  /// Whether the node is a branch in a loop that takes different arms in different iterations.
  [[nodiscard]] bool bursts_with(NodeId node) const {
    const Node& branch = graph_.nodes[node];
    return branch.kind == NodeKind::branch && loop_of_[branch.region] && period_of(branch) <= kLongestPeriod;
  }
  static double period_of(const Node& branch) {
    const double seldom = std::min(branch.expected, 1 - branch.expected);
    return seldom > 0 ? std::round(1 / seldom) : kLongestPeriod + 1;
  }

  /// Whether a value is transferred in a loop that contains a branch or loop, or is nested in another loop.
  [[nodiscard]] bool cross_in_bursts() const {
    IdVector<NodeId, std::uint8_t> uneven(graph_.nodes.size(), 0);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId node(n), around = loop_of_[graph_.nodes[node].region];
      if (!around) continue;
      if (bursts_with(node)) uneven[around] = 1;
      if (is_loop(node)) uneven[around] = uneven[node] = 1;
    }
    return std::any_of(program_.channels.begin(), program_.channels.end(), [&](const Channel& channel) {
      const NodeId loop = loop_of_[channel.region];
      return loop && uneven[loop];
    });
  }

  void find_trips() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId node(n), around = loop_of_[graph_.nodes[node].region];
      if (!around) continue;
      if (is_loop(node)) bursts_.trips[node] = std::max(bursts_.trips[node], kInnerTrips);
      if (bursts_with(node)) bursts_.period[around] = std::max(bursts_.period[around], static_cast<int>(period_of(graph_.nodes[node])));
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      bursts_.trips[NodeId(n)] = std::max(bursts_.trips[NodeId(n)], kPeriods * bursts_.period[NodeId(n)]);
  }

  /// Shortens the simulation to at most kMostBurstSteps steps. Returns false if that is impossible.
  bool shorten() {
    while (steps() > kMostBurstSteps) {
      int longest = 0;
      for (int& followed : bursts_.trips) {
        longest = std::max(longest, followed);
        followed = std::max(kSteadyTrips, followed / 2);
      }
      if (longest <= kSteadyTrips) return false;
    }
    return true;
  }
  [[nodiscard]] double steps() const {
    IdVector<RegionId, double> times(graph_.regions.size(), 1);
    for (std::size_t r = 1; r < graph_.regions.size(); ++r) {
      const Region& region = graph_.regions[RegionId(r)];
      const double followed = is_loop(region.owner) ? std::min(trips(region.owner), static_cast<double>(bursts_.trips[region.owner])) : 1;
      times[RegionId(r)] = times[region.parent] * (region.kind == RegionKind::while_body ? 1 : followed);
    }
    double steps = 0;
    for (const DeviceProgram& device : program_.devices)
      for (const Block& block : device.blocks) steps += times[block.region] * static_cast<double>(block.steps.size());
    return steps;
  }

  const Program& program_;
  const Graph& graph_;
  Bursts bursts_;
  IdVector<RegionId, NodeId> loop_of_;  ///< the innermost loop around a region; none: outside of all loops
};

}  // namespace

std::optional<Bursts> find_bursts(const Program& program) {
  return BurstFinder(program).run();
}

}  // namespace cleave::planner
