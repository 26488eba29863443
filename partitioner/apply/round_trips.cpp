// The members of round trips are the operations that only the host computes, on a path of HostFlow from an accelerator value to accelerator
// work. A second search of the same form finds those that a decision of the accelerator starts (StartedWork). Members are joined along
// data. Through carried, merged and state values ("names"), and through scalars with copies on both sides, this holds only if a member
// computes with the value. All searches are iterative.
#include "partitioner/apply/round_trips.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/started_work.h"

namespace cleave::planner {
namespace {

using Vertex = HostFlow::Vertex;

/// Runs both searches and describes each group of joined members as a RoundTrip.
class RoundTripSearch {
 public:
  RoundTripSearch(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers, const HostFlow& flow)
      : graph_(graph),
        costed_(costed),
        transfers_(transfers),
        host_seconds_(execution_seconds(costed.problem, placement.on_host, placement.on_accelerator, kHost)),
        uses_(*costed.uses),
        flow_(flow),
        started_(graph, costed, placement, transfers, flow),
        visited_(flow_.size(), 0),
        part_(flow_.size(), 0) {}

  std::vector<RoundTrip> run() {
    std::vector<RoundTrip> trips;
    join();
    join_names();
    for (const std::vector<Vertex>& group : groups())
      if (RoundTrip trip = describe(group); !kept_for_memory(trip)) trips.push_back(std::move(trip));
    if (started_.any()) {
      by_decision_ = true;
      join();
      lone_.assign(flow_.size(), 0);
      for (const std::vector<Vertex>& group : groups()) {
        if (std::none_of(group.begin(), group.end(), [&](Vertex v) { return started_.starts(v); })) continue;
        RoundTrip trip = describe(group);
        if (awaited(trip, group)) trips.push_back(std::move(trip));
      }
    }
    return in_source_order(std::move(trips));
  }

 private:
  [[nodiscard]] bool on_path(Vertex v) const { return by_decision_ ? started_.contains(v) : flow_.on_path(v); }
  [[nodiscard]] bool member(Vertex v) const { return on_path(v) && flow_.computes(v); }
  [[nodiscard]] bool connector(Vertex v) const { return on_path(v) && !flow_.computes(v); }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  /// Joins each member with the members whose results it reads, also through connectors. So a connector joins two members only if a member
  /// reads its value, and joins members with a reader only if a member contributed to its value.
  void join() {
    const auto n = static_cast<Vertex>(flow_.size());
    read_.assign(n, 0);
    std::vector<Vertex> pending;
    for (Vertex v = 0; v < n; ++v) {
      if (member(v)) pending.push_back(v);
    }
    std::vector<std::uint8_t> made(n, 0);
    std::vector<Vertex> found = pending;
    extend(found, [&](Vertex from, auto&& visit) {
      made[from] = 1;
      flow_.for_each_next(from, [&](Vertex next, UseKind) {
        if (connector(next)) visit(next);
      });
    });
    parent_.resize(n);
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    while (!pending.empty()) {
      const Vertex v = pending.back();
      pending.pop_back();
      flow_.for_each_previous(v, [&](Vertex previous, UseKind) {
        if (!on_path(previous)) return;
        if (made[previous]) parent_[root(previous)] = root(v);
        if (flow_.computes(previous) || read_[previous]) return;
        read_[previous] = 1;
        pending.push_back(previous);
      });
    }
  }

  /// Joins carried, merged and state values that the host keeps without computing with them, on a path from an arrival to a return that has
  /// only such values.
  void join_names() {
    const auto n = static_cast<Vertex>(flow_.size());
    lone_.assign(n, 0);
    for (Vertex v = 0; v < n; ++v) {
      if (flow_.operation(v) || !connector(v) || read_[v] || flow_.arrivals(v).empty()) continue;
      std::vector<Vertex> names = reached(v, [&](Vertex from, auto&& visit) {
        flow_.for_each_next(from, [&](Vertex next, UseKind) {
          if (connector(next) && !flow_.operation(next)) visit(next);
        });
      });
      if (std::none_of(names.begin(), names.end(), [&](Vertex name) { return brings_work(name); })) continue;
      for (const Vertex name : names) {
        lone_[name] = 1;
        parent_[root(name)] = root(v);
      }
    }
  }

  [[nodiscard]] bool brings_work(Vertex v) const {
    const auto ways = flow_.returns(v);
    return std::any_of(ways.begin(), ways.end(), [&](const HostFlow::Link& way) { return flow_.brings_work(way.second); });
  }

  /// The vertices that `next(vertex, visit)` reaches from `from`, which comes first.
  template <class Next>
  std::vector<Vertex> reached(Vertex from, Next&& next) {
    std::vector<Vertex> found{from};
    extend(found, next);
    return found;
  }
  template <class Next>
  void extend(std::vector<Vertex>& found, Next&& next) {
    ++visit_;
    for (const Vertex v : found) visited_[v] = visit_;
    for (std::size_t i = 0; i < found.size(); ++i) {
      next(found[i], [&](Vertex other) {
        if (visited_[other] == visit_) return;
        visited_[other] = visit_;
        found.push_back(other);
      });
    }
  }

  /// The groups of joined members, or for a group without members its carried, merged and state values. Each is in program order.
  std::vector<std::vector<Vertex>> groups() {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::vector<std::vector<Vertex>> found;
    std::vector<std::size_t> group_of(parent_.size(), kNone);
    for (const bool names : {false, true}) {
      const std::size_t before_names = found.size();
      for (Vertex v = 0; v < parent_.size(); ++v) {
        if (names ? !lone_[v] : !member(v)) continue;
        std::size_t& group = group_of[root(v)];
        if (names && group < before_names) continue;
        if (group == kNone) {
          group = found.size();
          found.emplace_back();
        }
        found[group].push_back(v);
      }
    }
    return found;
  }

  RoundTrip describe(const std::vector<Vertex>& group) {
    RoundTrip trip;
    for (const Vertex v : group) trip.through.push_back(flow_.node(v));
    std::sort(trip.through.begin(), trip.through.end(), [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
    trip.through.erase(std::unique(trip.through.begin(), trip.through.end()), trip.through.end());
    find_ways_back(trip, group);
    if (by_decision_) {
      find_decisions(trip, group);
    } else {
      find_ways_out(trip, group);
      trip.region = innermost_around(trip.out, graph_.nodes[trip.blamed].region);
      if (trip.controls.empty()) trip.region = innermost_around(trip.back, trip.region);
      find_unmarked(trip, group);
    }
    for (const std::size_t t : trip.out) {
      trip.out_bytes += static_cast<double>(transfers_.items[t].bytes) * transfers_.items[t].frequency;
      trip.seconds += transfers_.items[t].seconds;
    }
    const Cause forced = costed_.forced[trip.blamed.index];
    trip.cause = forced == Cause::none ? Cause::cheaper : forced;
    const bool by_data = std::any_of(trip.back.begin(), trip.back.end(), [&](std::size_t t) { return flow_.brings_work(t); });
    trip.via = by_decision_ ? Via::control : by_data ? Via::data : !trip.controls.empty() ? Via::control : Via::effect;
    for (const NodeId id : trip.through) {
      if (trip.via == Via::effect && !trip.delays.valid() && graph_.nodes[id].host_function() && graph_.purity(id) == Purity::effect)
        trip.delays = flow_.delays(id);
    }
    const auto& regions = costed_.problem.regions;
    for (const NodeId id : trip.through) trip.seconds += regions[graph_.nodes[id].region.index].frequency * host_seconds_[id.index];
    trip.bytes = std::llround(std::min(trip.out_bytes + trip.back_bytes, 9e18));
    trip.frequency = regions[trip.region.index].frequency;
    for (const NodeId id : trip.through) {
      for (const Allowance& allowance : graph_.nodes[id].allowed) {
        if (allowance.kind == DiagnosticKind::round_trip && trip.allowed.empty())
          trip.allowed = allowance.reason.empty() ? "allowed" : allowance.reason;
      }
    }
    return trip;
  }

  /// Finds the transfers and decisions that the group's results reach through connectors. A carried value may also bring values made
  /// elsewhere, so only a share of its transfer counts.
  void find_ways_back(RoundTrip& trip, const std::vector<Vertex>& group) {
    for (const Vertex v : group) part_[v] = 1;
    std::vector<Vertex> found = group;
    std::vector<Vertex> reached_names;
    ++visit_;
    for (const Vertex v : found) visited_[v] = visit_;
    for (std::size_t i = 0; i < found.size(); ++i) {
      flow_.for_each_next(found[i], [&](Vertex next, UseKind kind) {
        if (!connector(next)) return;
        const double part = part_[found[i]] * share(next, kind);
        if (visited_[next] == visit_) {
          if (i < group.size()) part_[next] = std::min(1.0, part_[next] + part);
          return;
        }
        visited_[next] = visit_;
        part_[next] = part;
        found.push_back(next);
      });
    }
    bool all_meant = true;
    for (const Vertex v : found) {
      for (const auto& [at, t] : flow_.returns(v)) {
        const Transfer& transfer = transfers_.items[t];
        trip.back.push_back(t);
        trip.back_bytes += part_[v] * static_cast<double>(transfer.bytes) * transfer.frequency;
        trip.seconds += part_[v] * transfer.seconds;
        all_meant = all_meant && transfer.is_explicit;
      }
      for (const auto& [at, control] : flow_.decisions(v)) trip.controls.emplace_back(control);
    }
    sort_unique(trip.back);
    sort_unique(trip.controls);
    trip.meant = all_meant && !trip.back.empty() && trip.controls.empty();
  }

  /// The innermost region at or around `region` in which one of the transfers is made. A loop that begins with a value of the accelerator
  /// and after which its last value is sent back is one round trip, however many iterations it has.
  [[nodiscard]] RegionId innermost_around(const std::vector<std::size_t>& transfers, RegionId region) const {
    const auto none_inside = [&] {
      return std::none_of(transfers.begin(), transfers.end(),
                          [&](std::size_t t) { return graph_.within(transfers_.items[t].region, region); });
    };
    while (!transfers.empty() && region != Graph::kRoot && none_inside()) region = graph_.regions[region].parent;
    return region;
  }

  /// The fraction of a carried value's instances that this use supplies: one for each entry of the loop is the initial value, the others
  /// are yielded. For all other vertices the fraction is 1.
  [[nodiscard]] double share(Vertex name, UseKind kind) const {
    if (flow_.operation(name)) return 1;
    const NodeId id = flow_.node(name);
    const Node& node = graph_.nodes[id];
    const auto frequency = [&](RegionId region) { return costed_.problem.regions[region.index].frequency; };
    if (node.kind != NodeKind::carried) return 1;
    const Node& loop = graph_.nodes[node.owner];
    const double trips = frequency(loop.regions.back()), entries = frequency(loop.region);
    const bool after = static_cast<std::size_t>(name) == graph_.nodes.size() + node.results[1].index;
    if (trips <= 0) return kind == UseKind::initial ? 1 : 0;
    if (after) return kind == UseKind::initial ? 0 : 1;
    const double first = std::min(1.0, entries / trips);
    return kind == UseKind::initial ? first : 1 - first;
  }

  /// Finds the transfers that the group reads, directly or through connectors, and the operation to blame for most of their cost.
  void find_ways_out(RoundTrip& trip, const std::vector<Vertex>& group) {
    std::tuple<bool, bool, double, std::int64_t> best;
    for (const Vertex v : group) {
      const NodeId id = flow_.node(v);
      const std::vector<Vertex> found = reached(v, [&](Vertex from, auto&& visit) {
        flow_.for_each_previous(from, [&](Vertex previous, UseKind) {
          if (connector(previous) || reads_for(id, previous)) visit(previous);
        });
      });
      double seconds = host_seconds_[id.index] * costed_.problem.regions[graph_.nodes[id].region.index].frequency;
      const std::size_t before = trip.out.size();
      for (const Vertex from : found) {
        for (const auto& [at, t] : flow_.arrivals(from)) {
          trip.out.push_back(t);
          seconds += transfers_.items[t].seconds;
        }
      }
      const std::tuple rank(trip.out.size() > before, by_user(id), seconds, -uses_.begin(id));
      if (!trip.blamed.valid() || rank > best) {
        best = rank;
        trip.blamed = id;
      }
    }
    sort_unique(trip.out);
  }

  /// Finds the operands that the user did not mark with to_host(). If there are none, all transfers out are intended.
  void find_unmarked(RoundTrip& trip, const std::vector<Vertex>& group) {
    bool all_meant = true, in_reach = true;  // a mark can be written, which it cannot for an operation that both sides compute
    const auto unmeant = [&](Vertex from) {
      const auto ways = flow_.arrivals(from);
      return std::any_of(ways.begin(), ways.end(), [&](const HostFlow::Link& way) { return !transfers_.items[way.second].is_explicit; });
    };
    for (const Vertex v : group) {
      const NodeId id = flow_.node(v);
      const Node& reader = graph_.nodes[id];
      const auto ways = flow_.arrivals(v);
      const auto unmeant_here = [&](const HostFlow::Link& way) {
        const Transfer& transfer = transfers_.items[way.second];
        return !transfer.is_explicit && !reader.means(transfer.value);
      };
      if (std::any_of(ways.begin(), ways.end(), unmeant_here)) {
        all_meant = false;
        in_reach = in_reach && flow_.operation(v);
      }
      for (const HostFlow::Link& way : ways) {
        if (unmeant_here(way)) trip.marks.push_back({id, transfers_.items[way.second].value});
      }
      if (!flow_.operation(v)) continue;  // a carried, merged or state value without computation
      for (const ValueId operand : reader.inputs) {
        if (reader.means(operand)) continue;
        flow_.with_source(operand, [&](Vertex source) {
          if (!connector(source)) return;
          const std::vector<Vertex> found = reached(source, [&](Vertex from, auto&& visit) {
            flow_.for_each_previous(from, [&](Vertex previous, UseKind) {
              if (connector(previous)) visit(previous);
            });
          });
          if (std::none_of(found.begin(), found.end(), unmeant)) return;
          all_meant = false;
          in_reach = in_reach && std::none_of(found.begin(), found.end(), [&](Vertex from) { return flow_.operation(from); });
          trip.marks.push_back({id, operand});
        });
      }
    }
    trip.meant = trip.meant || (all_meant && !trip.out.empty());
    sort_unique(trip.marks);
    if (!in_reach) trip.marks.clear();
  }

  /// Finds the decisions that start the group, the transfers by which the host learns them, and the operation to blame.
  void find_decisions(RoundTrip& trip, const std::vector<Vertex>& group) {
    std::tuple<bool, double, std::int64_t> best;
    for (const Vertex v : group) {
      if (!started_.starts(v)) continue;
      const NodeId id = flow_.node(v);
      trip.starts.push_back(started_.start(id).control);
      const double seconds = host_seconds_[id.index] * costed_.problem.regions[graph_.nodes[id].region.index].frequency;
      const std::tuple rank(by_user(id), seconds, -uses_.begin(id));
      if (trip.blamed.valid() && rank <= best) continue;
      best = rank;
      trip.blamed = id;
    }
    trip.region = started_.start(trip.blamed).region;
    sort_unique(trip.starts);
    // A mark is in reach if it can be written: not for operations on both sides, nor for predicates at a region's end.
    bool all_meant = true, in_reach = true;
    for (const NodeId control : trip.starts) {
      flow_.for_each_decider(control, [&](ValueId decider) {
        const std::vector<ValueId>& inputs = graph_.nodes[control].inputs;
        const bool input = std::find(inputs.begin(), inputs.end(), decider) != inputs.end();
        for (const auto& [at, t] : started_.told(control)) {
          if (transfers_.items[t].value == decider && !add_decision(trip, t, {control, decider}, all_meant)) in_reach = in_reach && input;
        }
        flow_.with_source(decider, [&](Vertex source) {
          if (!started_.hands_on(source)) return;
          const std::vector<Vertex> found = reached(source, [&](Vertex from, auto&& visit) {
            flow_.for_each_previous(from, [&](Vertex previous, UseKind) {
              if (flow_.from_accelerator(previous) && started_.hands_on(previous)) visit(previous);
            });
          });
          for (const Vertex from : found) {
            for (const auto& [at, t] : flow_.arrivals(from)) {
              const bool reads = flow_.operation(from);
              const Reading reading = reads ? Reading{flow_.node(from), transfers_.items[t].value} : Reading{control, decider};
              if (!add_decision(trip, t, reading, all_meant)) in_reach = in_reach && (reads ? flow_.computes(from) : input);
            }
          }
        });
      });
    }
    sort_unique(trip.out);
    sort_unique(trip.marks);
    trip.meant = trip.meant || (all_meant && !trip.out.empty());
    if (!in_reach) trip.marks.clear();
  }

  /// Adds a transfer that brings a decision. Returns true if it is intended at this read or at all reads.
  bool add_decision(RoundTrip& trip, std::size_t t, const Reading& reading, bool& all_meant) const {
    trip.out.push_back(t);
    const Node& reader = graph_.nodes[reading.reader];
    const bool mark = reader.op && reader.op->moves_to == Side::host;
    if (transfers_.items[t].is_explicit || reader.means(reading.value) || mark) return true;
    all_meant = false;
    trip.marks.push_back(reading);
    return false;
  }

  /// Whether the host only keeps values for which the accelerator's memory is too small.
  [[nodiscard]] bool kept_for_memory(const RoundTrip& trip) const {
    return trip.cause == Cause::memory && std::all_of(trip.through.begin(), trip.through.end(), [&](NodeId id) {
             return (!by_user(id) || costed_.forced[id.index] == Cause::memory) && (!graph_.nodes[id].op || only_keeps(graph_, id));
           });
  }

  /// Whether the accelerator waits for a group that its decisions start. It does not if only the order of effects leads back to it, nor if
  /// the host computes the group ahead of it in a loop that one decision starts.
  [[nodiscard]] bool awaited(const RoundTrip& trip, const std::vector<Vertex>& group) const {
    return std::any_of(group.begin(), group.end(), [&](Vertex v) {
      if (!started_.starts(v)) return false;
      return std::any_of(trip.back.begin(), trip.back.end(),
                         [&](std::size_t t) { return flow_.brings_work(t) && started_.awaited(v, transfers_.items[t].region); }) ||
             std::any_of(trip.controls.begin(), trip.controls.end(),
                         [&](NodeId control) { return started_.awaited(v, decided_in(control)); });
    });
  }

  /// The region in which, or at whose end, a loop or branch is decided.
  [[nodiscard]] RegionId decided_in(NodeId control) const {
    const Node& node = graph_.nodes[control];
    for (const RegionId region : node.regions)
      if (graph_.regions[region].predicate) return region;
    return node.region;
  }

  /// Whether `reader` causes the reads of `previous`: that one is on the host only because it is cheaper, as its result is needed there.
  [[nodiscard]] bool reads_for(NodeId reader, Vertex previous) const {
    if (!on_path(previous)) return false;
    return by_user(reader) && !by_user(flow_.node(previous));
  }

  [[nodiscard]] bool by_user(NodeId id) const {
    return costed_.forced[id.index] != Cause::none && costed_.forced[id.index] != Cause::cheaper;
  }
  template <class T>
  static void sort_unique(std::vector<T>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
  }

  std::vector<RoundTrip> in_source_order(std::vector<RoundTrip> trips) {
    std::stable_sort(trips.begin(), trips.end(), [&](const RoundTrip& a, const RoundTrip& b) {
      const SourceLocation &left = graph_.nodes[a.blamed].location, &right = graph_.nodes[b.blamed].location;
      if (before(left, right) || before(right, left)) return before(left, right);
      return uses_.begin(a.blamed) < uses_.begin(b.blamed);
    });
    for (const bool by_decision : {false, true}) {  // a transfer belongs first to the round trip that computes with its value
      for (std::size_t i = 0; i < trips.size(); ++i) {
        if (trips[i].starts.empty() == by_decision) continue;
        for (const std::vector<std::size_t>* way : {&trips[i].out, &trips[i].back}) {
          for (std::size_t t : *way) {
            if (transfers_.items[t].round_trip < 0) transfers_.items[t].round_trip = static_cast<int>(i);
          }
        }
      }
    }
    return trips;
  }

  const Graph& graph_;
  const CostedProblem& costed_;
  Transfers& transfers_;
  const std::vector<double> host_seconds_;  ///< by node, for one execution
  const ValueUses& uses_;
  const HostFlow& flow_;
  const StartedWork started_;
  bool by_decision_ = false;         ///< which of the two searches is running
  std::vector<std::size_t> parent_;  ///< union-find over vertices
  std::vector<std::uint8_t> read_;   ///< by vertex: a connector whose value a member computes with
  std::vector<std::uint8_t> lone_;   ///< by vertex: a carried, merged or state value of a group without computation
  std::vector<std::uint32_t> visited_;
  std::uint32_t visit_ = 0;
  std::vector<double> part_;  ///< by vertex: the fraction of its values that the current group makes
};

}  // namespace

std::string_view to_string(Via via) {
  switch (via) {
    case Via::data: break;
    case Via::control: return "control";
    case Via::effect: return "effect";
  }
  return "data";
}

bool only_keeps(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!node.op || node.host_function()) return false;
  if (std::all_of(node.results.begin(), node.results.end(), [&](ValueId value) { return graph.values[value].type.scalar(); })) return true;
  const CostClass cost = node.op->cost_class;
  return cost == CostClass::bookkeeping || cost == CostClass::creation || cost == CostClass::movement || cost == CostClass::gather;
}

std::vector<RoundTrip> find_round_trips(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers,
                                        const HostFlow& flow) {
  return RoundTripSearch(graph, costed, placement, transfers, flow).run();
}

}  // namespace cleave::planner
