// Builds the network in steps: the variables of the classes, the transfers of each value in both directions, execution costs, and the
// savings of neighbors.
#include "partitioner/solver/network.h"

#include <algorithm>
#include <array>

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;
constexpr std::int64_t kLimit = std::int64_t{1} << 62;
constexpr std::int32_t kLater = -3;  ///< instead of a vertex: not numbered yet

/// Repeated uses repeat arcs of infinite capacity; their sum is clamped to the limit.
void add(std::int64_t& sum, std::int64_t capacity) {
  sum = std::min(sum + capacity, kLimit);
}

/// Output of Builder: the network as a list of arcs.
class List {
 public:
  explicit List(CutNetwork& cut) : cut_(cut) {}
  std::int32_t add_vertex() {
    cut_.source_capacity.push_back(0);
    cut_.sink_capacity.push_back(0);
    return cut_.vertices() - 1;
  }
  void add_terminals(std::int32_t vertex, std::int64_t source, std::int64_t sink) {
    add(cut_.source_capacity[vertex], source);
    add(cut_.sink_capacity[vertex], sink);
  }
  void add_arc(std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse) {
    cut_.arcs.push_back({from, to, capacity, reverse});
  }

 private:
  CutNetwork& cut_;
};

/// Builds a network. Transfers to the accelerator are arcs from the producer to the users between their `accelerator_vertex`; transfers to
/// the host use the same construction on `host_vertex` with every arc reversed.
template <class Network>
class Builder {
 public:
  Builder(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses, const CapacityScale& scale,
          Network& network, PlacementVariables& result)
      : problem_(problem),
        contraction_(contraction),
        uses_(uses),
        scale_(scale),
        network_(network),
        result_(result),
        span_(problem.regions) {}

  void variables();
  void executions();
  void savings();
  void transfers();
  /// No copy on the accelerator implies one on the host. `infinite(vertex)`: a capacity that the flow out of the host's vertex never
  /// exceeds.
  template <class Infinite>
  void at_least_one_copy(Infinite infinite) {
    for (std::size_t i = 0; i < contraction_.classes.size(); ++i) {
      const std::int32_t host = result_.host_vertex[i], accelerator = result_.accelerator_vertex[i];
      if (accelerator >= 0 && accelerator != host) arc(accelerator, host, infinite(host));
    }
  }

 private:
  /// The vertices that need a value in a region of the span: up to two targets, or more behind an auxiliary vertex.
  struct Demand {
    int targets = 0;       ///< 3: three or more
    bool certain = false;  ///< a node whose side is decided needs the value here
    std::array<std::int32_t, 2> target{};
    std::array<std::int64_t, 2> capacity{};
  };
  /// The demand of a value's own region, and the cost of one transfer there.
  struct Demands {
    Demand demand;
    std::int64_t capacity = 0;
  };

  void arc(std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse = 0);
  void directed(bool to_accelerator, std::int32_t from, std::int32_t to, std::int64_t capacity) {
    to_accelerator ? arc(from, to, capacity) : arc(to, from, capacity);
  }
  void add_target(bool to_accelerator, Demand& demand, std::int64_t region_capacity, std::int32_t target, std::int64_t capacity);
  void join(bool to_accelerator, Demand& demand, std::int64_t region_capacity);
  Demands demands(std::size_t v, bool to_accelerator);
  void attach(bool to_accelerator, std::int32_t producer, Demands demands);
  bool attach_both(std::int32_t producer, const Demands& there, const Demands& back);
  [[nodiscard]] std::int64_t region_capacity(std::size_t v, bool to_accelerator, std::int32_t region) const {
    const auto& value = problem_.values[v];
    return scale_.units(problem_.regions[region].frequency *
                        (to_accelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds));
  }
  std::int32_t vertex(std::int32_t node, bool to_accelerator);
  bool saving_members(const PlacementProblem::Saving& saving, bool on_accelerator, std::vector<std::int32_t>& members);
  void add_saving(bool on_accelerator, const std::vector<std::int32_t>& members, std::int64_t saved);
  void add_saving(const std::vector<std::int32_t>& members, std::int64_t on_host, std::int64_t on_accelerator);

  const PlacementProblem& problem_;
  const Contraction& contraction_;
  const UsesByValue& uses_;
  const CapacityScale& scale_;
  Network& network_;
  PlacementVariables& result_;
  RegionSpan span_;
  std::vector<Demand> demands_;  ///< of the current value, by slot
};

template <class Network>
void Builder<Network>::arc(std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse) {
  if (from == to || (capacity == 0 && reverse == 0)) return;
  if (from >= 0 && to >= 0) {
    network_.add_arc(from, to, capacity, reverse);
  } else if (from < 0 && to < 0) {
    result_.constant += from == PlacementVariables::kSource ? capacity : reverse;
  } else if (from < 0) {
    from == PlacementVariables::kSource ? network_.add_terminals(to, capacity, 0) : network_.add_terminals(to, 0, reverse);
  } else {
    to == PlacementVariables::kSink ? network_.add_terminals(from, 0, capacity) : network_.add_terminals(from, reverse, 0);
  }
}

template <class Network>
void Builder<Network>::variables() {
  result_.host_vertex.clear();
  result_.accelerator_vertex.clear();
  result_.constant = 0;
  for (const Contraction::Class& group : contraction_.classes) {
    const std::int32_t side = group.pin == Pin::none   ? kLater
                              : group.pin == Pin::host ? PlacementVariables::kSource
                                                       : PlacementVariables::kSink;
    result_.host_vertex.push_back(side);
    result_.accelerator_vertex.push_back(side);
  }
}

/// Numbers vertices in the order of their first use, so that connected vertices are close together in memory.
template <class Network>
std::int32_t Builder<Network>::vertex(std::int32_t node, bool to_accelerator) {
  const std::int32_t of = contraction_.class_of[node];
  std::int32_t &host = result_.host_vertex[of], &accelerator = result_.accelerator_vertex[of];
  if (host == kLater) {
    const Contraction::Class& group = contraction_.classes[of];
    host = network_.add_vertex();
    accelerator = group.keep_accelerator_copy ? PlacementVariables::kSink : group.replicable ? network_.add_vertex() : host;
  }
  return to_accelerator ? accelerator : host;
}

template <class Network>
void Builder<Network>::executions() {
  for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
    const auto& node = problem_.nodes[i];
    const double frequency = problem_.regions[node.region].frequency;
    const auto index = static_cast<std::int32_t>(i);
    arc(vertex(index, false), PlacementVariables::kSink, scale_.units(frequency * node.host_seconds));
    arc(PlacementVariables::kSource, vertex(index, true), scale_.units(frequency * node.accelerator_seconds));
  }
}

/// The vertices that must all be on one side for the saving to apply. If a member must have no copy on the other side, it has one on this
/// side, so that its vertex for the other side expresses both conditions. Returns false if some member is certainly not on the side.
template <class Network>
bool Builder<Network>::saving_members(const PlacementProblem::Saving& saving, bool on_accelerator, std::vector<std::int32_t>& members) {
  const std::int32_t never = on_accelerator ? PlacementVariables::kSource : PlacementVariables::kSink;
  members.clear();
  bool possible = true;
  const auto add_node = [&](std::int32_t node) {
    const std::int32_t at = vertex(node, on_accelerator != saving.alone);
    possible &= at != never;
    if (at >= 0) members.push_back(at);
  };
  add_node(saving.node);
  for (const std::int32_t node : saving.with) add_node(node);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return possible;
}

/// A saving that applies if all members are on one side (for the host: the source's) is a negative constant, and a cost of the same amount
/// if any of them is not. With one member the cost is its terminal arc; with two, half of it is on each terminal arc and half on arcs
/// between them in both directions; with three or more it is behind an auxiliary vertex.
template <class Network>
void Builder<Network>::add_saving(bool on_accelerator, const std::vector<std::int32_t>& members, std::int64_t saved) {
  result_.constant -= saved;
  const std::int32_t terminal = on_accelerator ? PlacementVariables::kSink : PlacementVariables::kSource;
  if (members.size() == 1) return directed(!on_accelerator, terminal, members[0], saved);
  if (members.size() == 2) {
    for (const std::int32_t member : members) directed(!on_accelerator, terminal, member, saved / 2);
    return arc(members[0], members[1], saved / 2, saved / 2);
  }
  if (members.empty()) return;
  const std::int32_t auxiliary = network_.add_vertex();
  directed(!on_accelerator, terminal, auxiliary, saved);
  for (const std::int32_t member : members) directed(!on_accelerator, auxiliary, member, saved);
}

/// The same for two members and savings on both sides, with one arc between them.
template <class Network>
void Builder<Network>::add_saving(const std::vector<std::int32_t>& members, std::int64_t on_host, std::int64_t on_accelerator) {
  result_.constant -= on_host + on_accelerator;
  for (const std::int32_t member : members) network_.add_terminals(member, on_host / 2, on_accelerator / 2);
  arc(members[0], members[1], (on_host + on_accelerator) / 2, (on_host + on_accelerator) / 2);
}

template <class Network>
void Builder<Network>::savings() {
  std::vector<std::int32_t> host, accelerator;
  for (const auto& saving : problem_.savings) {
    const double frequency = problem_.regions[problem_.nodes[saving.node].region].frequency;
    const std::int64_t on_host = scale_.units(frequency * saving.host_seconds);
    const std::int64_t on_accelerator = scale_.units(frequency * saving.accelerator_seconds);
    const bool on_the_host = on_host > 0 && saving_members(saving, false, host);
    const bool on_the_accelerator = on_accelerator > 0 && saving_members(saving, true, accelerator);
    if (on_the_host && on_the_accelerator && host.size() == 2 && host == accelerator) {
      add_saving(host, on_host, on_accelerator);
      continue;
    }
    if (on_the_host) add_saving(false, host, on_host);
    if (on_the_accelerator) add_saving(true, accelerator, on_accelerator);
  }
}

/// The capacity of an arc to a target is at most what can flow into the region's own vertex, which is as good as infinite.
template <class Network>
void Builder<Network>::add_target(bool to_accelerator, Demand& demand, std::int64_t region_capacity, std::int32_t target,
                                  std::int64_t capacity) {
  capacity = std::min(capacity, region_capacity);
  for (int i = 0; i < demand.targets && demand.targets < 3; ++i) {
    if (demand.target[i] != target) continue;
    // Two paths down to one user: either both are paid, or a transfer in this region is.
    demand.capacity[i] = std::min(demand.capacity[i] + capacity, region_capacity);
    return;
  }
  if (demand.targets < 2) {
    demand.target[demand.targets] = target;
    demand.capacity[demand.targets++] = capacity;
    return;
  }
  if (demand.targets == 2) {
    join(to_accelerator, demand, region_capacity);
    demand.targets = 3;
  }
  directed(to_accelerator, demand.target[0], target, capacity);
}

/// Replaces two targets by one: an auxiliary vertex in front of them.
template <class Network>
void Builder<Network>::join(bool to_accelerator, Demand& demand, std::int64_t region_capacity) {
  const std::int32_t auxiliary = network_.add_vertex();
  for (int i = 0; i < 2; ++i) directed(to_accelerator, auxiliary, demand.target[i], demand.capacity[i]);
  demand.targets = 1;
  demand.target[0] = auxiliary;
  demand.capacity[0] = region_capacity;
}

/// The demands of all uses of value v on one side, folded up the region tree into the value's own region.
template <class Network>
typename Builder<Network>::Demands Builder<Network>::demands(std::size_t v, bool to_accelerator) {
  const auto& value = problem_.values[v];
  const std::int32_t never = to_accelerator ? PlacementVariables::kSource : PlacementVariables::kSink;
  const std::int32_t certainly = to_accelerator ? PlacementVariables::kSink : PlacementVariables::kSource;
  const std::int32_t producer = vertex(value.node, to_accelerator);
  if (producer == certainly) return {};  // the producer always has a copy there
  span_.restart(value.region);
  demands_.assign(1, {});
  const auto for_each_target = [&](auto visit) {
    for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) {
      const auto& use = problem_.uses[uses_.order[i]];
      const std::int32_t target = vertex(use.node, to_accelerator);
      if (target == producer || target == never) continue;
      const std::int32_t slot = span_.add(use.region);
      if (demands_.size() < span_.slots().size()) demands_.resize(span_.slots().size());
      visit(demands_[slot], use.region, target);
    }
  };
  for_each_target([&](Demand& demand, std::int32_t, std::int32_t target) { demand.certain |= target == certainly; });
  for_each_target([&](Demand& demand, std::int32_t region, std::int32_t target) {
    if (!demand.certain || target == certainly) {
      add_target(to_accelerator, demand, region_capacity(v, to_accelerator, region), target, kLimit);
    }
  });
  for (std::size_t slot = demands_.size() - 1; slot > 0; --slot) {
    Demand& parent = demands_[span_.slots()[slot].parent];
    Demand& child = demands_[slot];
    if (parent.certain || child.targets == 0) continue;
    const std::int64_t capacity = region_capacity(v, to_accelerator, span_.slots()[slot].region);
    if (child.targets == 2) join(to_accelerator, child, capacity);
    if (child.targets == 3) child.capacity[0] = capacity;
    add_target(to_accelerator, parent, region_capacity(v, to_accelerator, span_.slots()[span_.slots()[slot].parent].region),
               child.target[0], child.capacity[0]);
  }
  return {demands_[0], region_capacity(v, to_accelerator, value.region)};
}

template <class Network>
void Builder<Network>::attach(bool to_accelerator, std::int32_t producer, Demands demands) {
  Demand& demand = demands.demand;
  if (demand.targets == 0) return;
  if (demand.targets == 2 && demand.capacity[0] + demand.capacity[1] > demands.capacity) join(to_accelerator, demand, demands.capacity);
  if (demand.targets == 3) demand.capacity[0] = demands.capacity;
  for (int i = 0; i < std::min(demand.targets, 2); ++i) {
    if (demand.targets < 3 || i == 0) directed(to_accelerator, producer, demand.target[i], demand.capacity[i]);
  }
}

/// Adds both directions at once if they have the same variables. If a transfer to two targets is shared in both directions, the smaller
/// shared amount is saved as long as the targets agree with each other but not with the producer: half of it moves to an arc between the
/// targets. An auxiliary vertex is needed only for the amount by which one direction shares more than the other.
template <class Network>
bool Builder<Network>::attach_both(std::int32_t producer, const Demands& there, const Demands& back) {
  const Demand &to = there.demand, &from = back.demand;
  if (to.targets != from.targets || to.targets == 0 || to.targets > 2 || to.target[0] != from.target[0]) return false;
  if (to.targets == 1) {
    arc(producer, to.target[0], to.capacity[0], from.capacity[0]);
    return true;
  }
  if (to.target[1] != from.target[1]) return false;
  const std::int64_t shared_there = std::max<std::int64_t>(0, to.capacity[0] + to.capacity[1] - there.capacity);
  const std::int64_t shared_back = std::max<std::int64_t>(0, from.capacity[0] + from.capacity[1] - back.capacity);
  const std::int64_t both = std::min(shared_there, shared_back);
  for (int i = 0; i < 2; ++i) {
    arc(producer, to.target[i], to.capacity[i] - (shared_there - both / 2), from.capacity[i] - (shared_back - both / 2));
  }
  arc(to.target[0], to.target[1], both / 2, both / 2);
  if (shared_there == shared_back) return true;
  const bool to_accelerator = shared_there > shared_back;
  const std::int64_t rest = std::max(shared_there, shared_back) - both;
  const std::int32_t auxiliary = network_.add_vertex();
  directed(to_accelerator, producer, auxiliary, rest);
  for (const std::int32_t target : to.target) directed(to_accelerator, auxiliary, target, rest);
  return true;
}

template <class Network>
void Builder<Network>::transfers() {
  for (std::size_t v = 0; v < problem_.values.size(); ++v) {
    if (uses_.start[v] == uses_.start[v + 1]) continue;
    const std::int32_t producer = problem_.values[v].node;
    const Demands there = demands(v, true);
    const Demands back = demands(v, false);
    const std::int32_t from = vertex(producer, true), to = vertex(producer, false);
    if (from == to && attach_both(from, there, back)) continue;
    attach(true, from, there);
    attach(false, to, back);
  }
}

}  // namespace

PlacementNetwork make_network(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                              const CapacityScale& scale) {
  PlacementNetwork result;
  List list(result.cut);
  Builder builder(problem, contraction, uses, scale, list, result);
  builder.variables();
  builder.transfers();
  builder.executions();
  builder.savings();
  std::vector<std::int64_t> leaving = result.cut.sink_capacity;
  for (const CutNetwork::Arc& arc : result.cut.arcs) {
    add(leaving[arc.from], arc.capacity);
    add(leaving[arc.to], arc.reverse_capacity);
  }
  builder.at_least_one_copy([&](std::int32_t host) { return leaving[host]; });
  return result;
}

PlacementFlow make_flow(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses,
                        const CapacityScale& scale) {
  PlacementFlow result;
  FlowBuilder flow;
  Builder builder(problem, contraction, uses, scale, flow, result);
  for (const bool filling : {false, true}) {
    if (filling) flow.fill();
    builder.variables();
    builder.transfers();
    builder.executions();
    builder.savings();
    builder.at_least_one_copy([](std::int32_t) { return kLimit; });
  }
  result.flow = flow.finish();
  return result;
}

}  // namespace cleave::planner
