// The host's part of the placed program is a directed graph: an edge where a host copy reads what a host copy made (carried values
// included) and where a predicate decides what is done. What accelerator values reach in it, and what reaches accelerator work, is on a
// round trip. Nodes with copies on both sides lie on paths but belong to no group; leaves compute nothing and are left out. All searches
// are iterative.
#include "partitioner/apply/round_trips.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers)
      : graph_(graph),
        costed_(costed),
        placement_(placement),
        transfers_(transfers),
        host_seconds_(execution_seconds(costed.problem, placement.on_host, placement.on_accelerator, kHost)),
        uses_(*costed.uses),
        deliveries_(graph, uses_, placement, transfers.items) {}

  std::vector<RoundTrip> run() {
    find_decisions();
    find_arrivals();
    mark_paths();
    join();
    return describe();
  }

 private:
  using Marks = std::vector<char>;

  [[nodiscard]] bool on_host(NodeId node) const { return placement_.has_copy(node.index, kHost); }
  [[nodiscard]] bool on_accelerator(NodeId node) const { return placement_.has_copy(node.index, kAccelerator); }
  [[nodiscard]] bool vertex(NodeId node) const {
    switch (graph_.nodes[node].kind) {
      case NodeKind::for_loop:
      case NodeKind::while_loop:
      case NodeKind::branch: return true;
      case NodeKind::input:
      case NodeKind::parameter:
      case NodeKind::constant:
      case NodeKind::counter: return false;
      default: return on_host(node);
    }
  }
  [[nodiscard]] bool member(NodeId node) const {
    return on_path_[node.index] && !is_control(graph_.nodes[node].kind) && !on_accelerator(node);
  }
  [[nodiscard]] bool joined(NodeId node) const { return member(node) || connects_[node.index]; }

  template <class F>
  void for_each_merge(NodeId branch, F&& f) const {
    const auto& siblings = graph_.regions[graph_.nodes[branch].region].nodes;
    for (auto k = static_cast<std::size_t>(uses_.position(branch)) + 1; k < siblings.size(); ++k) {
      if (graph_.nodes[siblings[k]].owner != branch) return;
      f(siblings[k]);
    }
  }

  template <class F>
  void for_each_successor(NodeId id, F&& f) const {
    const Node& node = graph_.nodes[id];
    const auto visit = [&](NodeId next) {
      if (next && vertex(next)) f(next);
    };
    if (is_control(node.kind)) {
      for (RegionId region : node.regions) {
        for (NodeId inner : graph_.regions[region].nodes) visit(inner);
      }
      if (node.kind == NodeKind::branch) for_each_merge(id, visit);
      return;
    }
    for (ValueId value : node.results) {
      for (const ValueUse& use : uses_.of(value)) visit(use.node);
    }
  }

  template <class F>
  void for_each_predecessor(NodeId id, F&& f) const {
    const Node& node = graph_.nodes[id];
    const auto visit = [&](NodeId previous) {
      if (previous && vertex(previous)) f(previous);
    };
    for (ValueId value : node.inputs) visit(graph_.values[value].producer);
    for (RegionId region : node.regions) {
      if (const ValueId predicate = graph_.regions[region].predicate) visit(graph_.values[predicate].producer);
    }
    if (node.kind == NodeKind::merge) visit(node.owner);
    visit(graph_.regions[node.region].owner);
  }

  /// Control nodes that decide accelerator work: work inside, or a merge of theirs there.
  void find_decisions() {
    decides_.assign(graph_.nodes.size(), 0);
    IdVector<RegionId, char> has_work(graph_.regions.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (is_control(node.kind) || !on_accelerator(NodeId(i))) continue;
      if (node.kind == NodeKind::merge) decides_[node.owner.index] = 1;
      if (node.kind == NodeKind::operation || node.kind == NodeKind::carried || node.kind == NodeKind::merge) has_work[node.region] = 1;
    }
    for (std::size_t i = graph_.regions.size(); i-- > 1;) {
      const Region& region = graph_.regions[RegionId(i)];
      if (has_work[RegionId(i)]) decides_[region.owner.index] = has_work[graph_.nodes[region.owner].region] = 1;
    }
  }

  /// For each vertex the transfers to the host that it reads.
  void find_arrivals() {
    for (std::size_t t = 0; t < transfers_.items.size(); ++t) {
      if (transfers_.items[t].to != kHost) continue;
      for (const ValueUse& use : deliveries_.of(t)) {
        if (use.node && vertex(use.node)) arrivals_.emplace_back(use.node, t);
      }
    }
    std::sort(arrivals_.begin(), arrivals_.end());
    arrivals_.erase(std::unique(arrivals_.begin(), arrivals_.end()), arrivals_.end());
  }
  template <class F>
  void for_each_arrival(NodeId node, F&& f) const {
    for (auto at = std::lower_bound(arrivals_.begin(), arrivals_.end(), std::pair(node, std::size_t{0}));
         at != arrivals_.end() && at->first == node; ++at) {
      f(at->second);
    }
  }

  template <class Next>
  static void spread(Marks& marks, std::vector<NodeId> pending, Next&& next) {
    for (NodeId node : pending) marks[node.index] = 1;
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      next(node, [&](NodeId other) {
        if (marks[other.index]) return;
        marks[other.index] = 1;
        pending.push_back(other);
      });
    }
  }

  void mark_paths() {
    const std::size_t n = graph_.nodes.size();
    std::vector<NodeId> starts, ends;
    for (const auto& [node, transfer] : arrivals_) starts.push_back(node);
    for (const Transfer& t : transfers_.items) {
      const NodeId producer = graph_.values[t.value].producer;
      if (t.to != kHost && vertex(producer)) ends.push_back(producer);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (decides_[i]) ends.push_back(NodeId(i));
    }
    Marks forward(n, 0), backward(n, 0);
    spread(forward, starts, [&](NodeId node, auto&& visit) { for_each_successor(node, visit); });
    spread(backward, ends, [&](NodeId node, auto&& visit) { for_each_predecessor(node, visit); });
    on_path_.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) on_path_[i] = forward[i] && backward[i];

    // What lies behind a member joins members; a predicate that comes straight from the accelerator joins nothing.
    std::vector<NodeId> members;
    for (std::size_t i = 0; i < n; ++i) {
      if (member(NodeId(i))) members.push_back(NodeId(i));
    }
    connects_.assign(n, 0);
    spread(connects_, members, [&](NodeId node, auto&& visit) {
      for_each_successor(node, [&](NodeId next) {
        if (on_path_[next.index]) visit(next);
      });
    });
  }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void join() {
    parent_.resize(graph_.nodes.size());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      if (!joined(NodeId(i))) continue;
      for_each_successor(NodeId(i), [&](NodeId next) {
        if (joined(next)) parent_[root(next.index)] = root(i);
      });
    }
  }

  std::vector<RoundTrip> describe() {
    constexpr std::size_t kNoTrip = static_cast<std::size_t>(-1);
    std::vector<RoundTrip> trips;
    std::vector<std::size_t> trip_of_root(parent_.size(), kNoTrip);
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      if (!member(NodeId(i))) continue;
      std::size_t& trip = trip_of_root[root(i)];
      if (trip == kNoTrip) {
        trip = trips.size();
        trips.emplace_back();
      }
      trips[trip].through.push_back(NodeId(i));
    }
    const auto trip_of = [&](NodeId node) { return joined(node) ? trip_of_root[root(node.index)] : kNoTrip; };
    for (const auto& [node, transfer] : arrivals_) {
      if (member(node)) trips[trip_of(node)].out.push_back(transfer);
    }
    for (std::size_t t = 0; t < transfers_.items.size(); ++t) {
      const NodeId producer = graph_.values[transfers_.items[t].value].producer;
      if (transfers_.items[t].to != kHost && member(producer)) trips[trip_of(producer)].back.push_back(t);
    }
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      if (decides_[i] && predicate_from(NodeId(i), trip_of) != kNoTrip)
        trips[predicate_from(NodeId(i), trip_of)].controls.push_back(NodeId(i));
    }
    for (RoundTrip& trip : trips) complete(trip);
    return in_source_order(std::move(trips));
  }

  template <class TripOf>
  std::size_t predicate_from(NodeId control, TripOf&& trip_of) const {
    const Node& node = graph_.nodes[control];
    std::size_t trip = static_cast<std::size_t>(-1);
    for (ValueId value : node.inputs) trip = std::min(trip, trip_of(graph_.values[value].producer));
    for (RegionId region : node.regions) {
      if (const ValueId value = graph_.regions[region].predicate) trip = std::min(trip, trip_of(graph_.values[value].producer));
    }
    return trip;
  }

  /// Where no member reads from the accelerator itself: the nearest arrivals on the way there (a predicate, or a scalar both sides have).
  void find_indirect_arrivals(RoundTrip& trip) const {
    std::vector<NodeId> level = trip.through;
    std::vector<NodeId> seen;
    while (trip.out.empty() && !level.empty()) {
      std::vector<NodeId> next;
      for (NodeId node : level) {
        for_each_predecessor(node, [&](NodeId previous) {
          if (!member(previous)) next.push_back(previous);
        });
      }
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      level.clear();
      std::set_difference(next.begin(), next.end(), seen.begin(), seen.end(), std::back_inserter(level));
      for (NodeId node : level) for_each_arrival(node, [&](std::size_t t) { trip.out.push_back(t); });
      seen.insert(seen.end(), level.begin(), level.end());
      std::sort(seen.begin(), seen.end());
    }
  }

  void complete(RoundTrip& trip) const {
    if (trip.out.empty()) find_indirect_arrivals(trip);
    std::sort(trip.out.begin(), trip.out.end());
    trip.out.erase(std::unique(trip.out.begin(), trip.out.end()), trip.out.end());
    std::sort(trip.through.begin(), trip.through.end(), [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
    trip.via_control = through_control_alone(trip);
    blame(trip);
    measure(trip);
    const auto meant = [&](std::size_t t) { return transfers_.items[t].is_explicit; };
    trip.meant = std::all_of(trip.out.begin(), trip.out.end(), meant) ||
                 (trip.controls.empty() && std::all_of(trip.back.begin(), trip.back.end(), meant));
    for (NodeId id : trip.through) {
      for (const Allowance& allowance : graph_.nodes[id].allowed) {
        if (allowance.kind == DiagnosticKind::round_trip && trip.allowed.empty())
          trip.allowed = allowance.reason.empty() ? "allowed" : allowance.reason;
      }
    }
  }

  /// Nothing goes back but what decides: no value, or only values for nodes that the host computes as well (scalars behind a predicate).
  bool through_control_alone(const RoundTrip& trip) const {
    if (trip.controls.empty()) return false;
    return std::all_of(trip.back.begin(), trip.back.end(), [&](std::size_t t) {
      const auto uses = deliveries_.of(t);
      return std::all_of(uses.begin(), uses.end(), [&](const ValueUse& use) { return on_host(use.node); });
    });
  }

  /// What the user caused, first in the source; else the first operation there.
  void blame(RoundTrip& trip) const {
    const auto rank = [&](NodeId id) {
      const bool by_user = costed_.forced[id.index] != Cause::none && costed_.forced[id.index] != Cause::cheaper;
      return std::tuple(!by_user, graph_.nodes[id].kind != NodeKind::operation);
    };
    trip.blamed = *std::min_element(trip.through.begin(), trip.through.end(), [&](NodeId a, NodeId b) {
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      return before(graph_.nodes[a].location, graph_.nodes[b].location);
    });
    const Cause forced = costed_.forced[trip.blamed.index];
    trip.cause = forced == Cause::none ? Cause::cheaper : forced;
  }

  void measure(RoundTrip& trip) const {
    const auto& regions = costed_.problem.regions;
    double bytes = 0;
    for (const std::vector<std::size_t>* way : {&trip.out, &trip.back}) {
      for (std::size_t t : *way) {
        bytes += static_cast<double>(transfers_.items[t].bytes) * transfers_.items[t].frequency;
        trip.seconds += transfers_.items[t].seconds;
      }
    }
    for (NodeId id : trip.through) trip.seconds += regions[graph_.nodes[id].region.index].frequency * host_seconds_[id.index];
    trip.bytes = std::llround(std::min(bytes, 9e18));
    trip.frequency = regions[graph_.nodes[trip.blamed].region.index].frequency;
  }

  std::vector<RoundTrip> in_source_order(std::vector<RoundTrip> trips) {
    std::stable_sort(trips.begin(), trips.end(), [&](const RoundTrip& a, const RoundTrip& b) {
      const SourceLocation &left = graph_.nodes[a.blamed].location, &right = graph_.nodes[b.blamed].location;
      if (before(left, right) || before(right, left)) return before(left, right);
      return uses_.begin(a.blamed) < uses_.begin(b.blamed);
    });
    for (std::size_t i = 0; i < trips.size(); ++i) {
      for (const std::vector<std::size_t>* way : {&trips[i].out, &trips[i].back}) {
        for (std::size_t t : *way) {
          if (transfers_.items[t].round_trip < 0) transfers_.items[t].round_trip = static_cast<int>(i);
        }
      }
    }
    return trips;
  }

  const Graph& graph_;
  const CostedProblem& costed_;
  const Placement& placement_;
  Transfers& transfers_;
  const std::vector<double> host_seconds_;  ///< by node, one execution
  const ValueUses& uses_;
  const Deliveries deliveries_;
  Marks decides_;   ///< control nodes that decide accelerator work
  Marks on_path_;   ///< between an arrival and accelerator work
  Marks connects_;  ///< on a path, behind a member
  std::vector<std::pair<NodeId, std::size_t>> arrivals_;
  std::vector<std::size_t> parent_;  ///< union-find over nodes
};

}  // namespace

std::vector<RoundTrip> find_round_trips(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers) {
  return Finder(graph, costed, placement, transfers).run();
}

}  // namespace cleave::planner
