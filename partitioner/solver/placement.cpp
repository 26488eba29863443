// solve(): contracts the problem, decides obvious nodes, builds the network, cuts it, reads the answer, drops unread copies, recomputes the
// cost and certifies it.
#include "partitioner/solver/placement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/base/exceptions.h"
#include "graph/base/units.h"
#include "partitioner/solver/contract.h"
#include "partitioner/solver/drivers.h"
#include "partitioner/solver/memory_capacity.h"
#include "partitioner/solver/network.h"
#include "partitioner/solver/reduce.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;
using Side = std::vector<std::uint8_t>;

/// The cheapest regions for the transfers of one value in one direction, by a walk up its span of regions.
class TransferTree {
 public:
  explicit TransferTree(const PlacementProblem& problem) : problem_(problem), span_(problem.regions) {}

  /// Appends the transfers that bring value v to all of its uses by nodes in `needed_by`; returns their cost.
  double add(const UsesByValue& uses, std::int32_t v, bool to_accelerator, const Side& on_host, const Side& needed_by,
             std::vector<PlannedTransfer>& transfers) {
    const auto& value = problem_.values[v];
    on_host_ = &on_host;
    span_.restart(value.region);
    states_.assign(1, {});
    bool any = false;
    for (std::int32_t i = uses.start[v]; i < uses.start[v + 1]; ++i) {
      const auto& use = problem_.uses[uses.order[i]];
      if (!needed_by[use.node]) continue;
      any = true;
      const std::int32_t slot = span_.add(use.region);
      if (states_.size() < span_.slots().size()) states_.resize(span_.slots().size());
      states_[slot].here = true;
    }
    if (!any) return 0;
    return choose(v, to_accelerator, to_accelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds, transfers);
  }

 private:
  /// Whether no transfer may stand in the region, since its driver has no copy on the host.
  [[nodiscard]] bool barred(std::int32_t region) const {
    const std::int32_t driver = problem_.regions[region].driver;
    return driver != PlacementProblem::kNoDriver && !(*on_host_)[driver];
  }

  struct State {
    double below = 0;   ///< cost of the cheapest transfers in the child regions
    bool here = false;  ///< whether a transfer stands in this region, because a use needs it or because that is cheapest
  };

  double choose(std::int32_t v, bool to_accelerator, double seconds, std::vector<PlannedTransfer>& transfers) {
    // Products of frequencies have rounding errors. Costs that are equal within these are a tie, which the outermost region wins.
    constexpr double kTie = 1 + 1e-12;
    const auto& slots = span_.slots();
    double total = 0;
    for (std::size_t s = slots.size(); s-- > 0;) {
      const double here = problem_.regions[slots[s].region].frequency * seconds;
      State& state = states_[s];
      if (s > 0 && barred(slots[s].region)) {  // no transfer may stand in its descendants either: the parent must have the value
        states_[slots[s].parent].here |= std::exchange(state.here, false);
        continue;
      }
      state.here = state.here || here <= state.below * kTie;
      const double best = state.here ? here : state.below;
      (s == 0 ? total : states_[slots[s].parent].below) += best;
    }
    const std::size_t first = transfers.size();
    total = 0;
    served_.assign(slots.size(), 0);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      served_[s] = s > 0 && served_[slots[s].parent];
      if (served_[s] || !states_[s].here) continue;
      served_[s] = 1;
      transfers.push_back({v, to_accelerator ? kHost : kAccelerator, to_accelerator ? kAccelerator : kHost, slots[s].region});
      total += problem_.regions[slots[s].region].frequency * seconds;
    }
    std::sort(transfers.begin() + static_cast<std::ptrdiff_t>(first), transfers.end(),
              [](const PlannedTransfer& a, const PlannedTransfer& b) { return a.region < b.region; });
    return total;
  }

  const PlacementProblem& problem_;
  const Side* on_host_ = nullptr;
  RegionSpan span_;
  std::vector<State> states_;
  std::vector<std::uint8_t> served_;
};

/// Whether all members of a saving are placed such that it applies; `at` maps a node to its index in the sides.
template <class At>
bool together(const PlacementProblem::Saving& saving, const Side& here, const Side& there, At at) {
  const auto is_here = [&](std::int32_t node) { return here[at(node)] && !(saving.alone && there[at(node)]); };
  return is_here(saving.node) && std::all_of(saving.with.begin(), saving.with.end(), is_here);
}

Placement evaluate(const PlacementProblem& problem, const UsesByValue& uses, Side on_host, Side on_accelerator) {
  settle_drivers(problem, on_host, on_accelerator);
  Placement result;
  const std::vector<double> host = execution_seconds(problem, on_host, on_accelerator, kHost);
  const std::vector<double> accelerator = execution_seconds(problem, on_host, on_accelerator, kAccelerator);
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const double frequency = problem.regions[problem.nodes[i].region].frequency;
    if (on_host[i]) result.objective_seconds += frequency * host[i];
    if (on_accelerator[i]) result.objective_seconds += frequency * accelerator[i];
  }
  TransferTree tree(problem);
  for (std::size_t v = 0; v < problem.values.size(); ++v) {
    if (uses.start[v] == uses.start[v + 1]) continue;
    const std::int32_t producer = problem.values[v].node;
    const auto value = static_cast<std::int32_t>(v);
    if (!on_host[producer]) result.objective_seconds += tree.add(uses, value, false, on_host, on_host, result.transfers);
    if (!on_accelerator[producer]) result.objective_seconds += tree.add(uses, value, true, on_host, on_accelerator, result.transfers);
  }
  result.on_host = std::move(on_host);
  result.on_accelerator = std::move(on_accelerator);
  result.gap = result.objective_seconds > 0 ? 1 : 0;
  return result;
}

/// The producers whose values each class of nodes reads, by class.
struct ReadsByClass {
  std::vector<std::int32_t> start, producers;
  ReadsByClass(const PlacementProblem& problem, const Contraction& contraction)
      : start(contraction.classes.size() + 1), producers(problem.uses.size()) {
    for (const auto& use : problem.uses) ++start[contraction.class_of[use.node] + 1];
    for (std::size_t i = 0; i + 1 < start.size(); ++i) start[i + 1] += start[i];
    std::vector<std::int32_t> next(start.begin(), start.end() - 1);
    for (const auto& use : problem.uses) {
      producers[next[contraction.class_of[use.node]]++] = contraction.class_of[problem.values[use.value].node];
    }
  }
};

/// Drops copies on `side` of classes that also have one on `other`, unless a class that exists on `side` alone depends on them.
void drop_unread(const ReadsByClass& reads, const Side& must_stay, Side& side, const Side& other) {
  Side live(side.size(), 0);
  std::vector<std::int32_t> reached;
  for (std::size_t i = 0; i < side.size(); ++i) {
    if (!side[i] || (other[i] && !must_stay[i])) continue;
    live[i] = 1;
    reached.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (std::int32_t i = reads.start[reached[next]]; i < reads.start[reached[next] + 1]; ++i) {
      const std::int32_t producer = reads.producers[i];
      if (!side[producer] || live[producer]) continue;
      live[producer] = 1;
      reached.push_back(producer);
    }
  }
  side = std::move(live);
}

/// Marks the classes whose copies on `here` take part in a saving: to drop such a copy could cost more than it saves.
void mark_savers(const PlacementProblem& problem, const Contraction& contraction, const Side& here, const Side& there, bool on_host,
                 Side& marked) {
  const auto class_of = [&](std::int32_t node) { return contraction.class_of[node]; };
  for (const auto& saving : problem.savings) {
    if ((on_host ? saving.host_seconds : saving.accelerator_seconds) <= 0 || !together(saving, here, there, class_of)) continue;
    marked[class_of(saving.node)] = 1;
    for (const std::int32_t node : saving.with) marked[class_of(node)] = 1;
  }
}

/// Drops unread copies on the accelerator first, so that of two unread copies the one on the host stays.
void drop_unread_replicas(const PlacementProblem& problem, const Contraction& contraction, Side& host, Side& accelerator) {
  bool any = false;
  for (std::size_t i = 0; i < host.size(); ++i) any |= host[i] && accelerator[i];
  if (!any) return;
  const ReadsByClass reads(problem, contraction);
  Side must_stay(host.size(), 0);
  for (std::size_t i = 0; i < host.size(); ++i) must_stay[i] = contraction.classes[i].keep_accelerator_copy;
  mark_savers(problem, contraction, accelerator, host, false, must_stay);
  drop_unread(reads, must_stay, accelerator, host);
  must_stay.assign(host.size(), 0);
  mark_savers(problem, contraction, host, accelerator, true, must_stay);
  drop_unread(reads, must_stay, host, accelerator);
}

/// Reads the sides from the variables of the classes alone; auxiliary vertices are ignored.
void read_sides(const PlacementVariables& network, const std::vector<bool>& source_side, Side& host, Side& accelerator) {
  auto on_source_side = [&](std::int32_t vertex) {
    return vertex >= 0 ? bool{source_side[vertex]} : vertex == PlacementVariables::kSource;
  };
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i] = on_source_side(network.host_vertex[i]);
    accelerator[i] = !on_source_side(network.accelerator_vertex[i]);
  }
}

/// A solver's answer, by class.
struct Answer {
  Side host, accelerator;     ///< per class
  std::int64_t value = 0;     ///< value of the cut
  double bound = 0;           ///< lower bound on every cut within the capacity
  std::int64_t constant = 0;  ///< cost in addition to the cut
};

Answer read(const PlacementVariables& variables, const std::vector<bool>& source_side, std::int64_t value, double bound) {
  Answer answer{Side(variables.host_vertex.size()), Side(variables.host_vertex.size()), value, bound, variables.constant};
  read_sides(variables, source_side, answer.host, answer.accelerator);
  return answer;
}

Result<Answer> cut_within_capacity(const PlacementProblem& problem, const Contraction& contraction, const PlacementNetwork& network,
                                   const SolveOptions& options) {
  std::vector<double> weights(network.cut.source_capacity.size());
  double unavoidable = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const std::int32_t vertex = network.accelerator_vertex[contraction.class_of[i]];
    if (vertex >= 0) weights[vertex] += problem.nodes[i].accelerator_bytes;
    if (vertex == PlacementVariables::kSink) unavoidable += problem.nodes[i].accelerator_bytes;
  }
  const auto found = cut_within_capacity(
      network.cut, weights, unavoidable, problem.accelerator_memory_bytes,
      {.solver = options.solver, .max_branches = options.max_branches, .tolerance = options.tolerance, .max_work = options.max_work});
  if (found) return read(network, found->source_side, found->value, found->bound);
  return Error{"what must be on the accelerator needs " + format_bytes(unavoidable) + " of its memory, which has " +
               format_bytes(problem.accelerator_memory_bytes)};
}

Result<Answer> cut(const PlacementProblem& problem, const Contraction& contraction, const UsesByValue& uses, const CapacityScale& scale,
                   const SolveOptions& options) {
  if (options.solver == Solver::flat && problem.accelerator_memory_bytes <= 0) {
    PlacementFlow network = make_flow(problem, contraction, uses, scale);
    push_all(network.flow);
    return read(network, network.flow.largest_source_side(), network.flow.flow, static_cast<double>(network.flow.flow));
  }
  const PlacementNetwork network = make_network(problem, contraction, uses, scale);
  if (problem.accelerator_memory_bytes > 0) return cut_within_capacity(problem, contraction, network, options);
  const Cut cut = min_cut(network.cut, options.solver);
  return read(network, cut.source_side, cut.value, static_cast<double>(cut.value));
}

/// Sum of all savings that apply in the placement, per run.
double saved_seconds(const PlacementProblem& problem, const Placement& placement) {
  double saved = 0;
  for (const auto& saving : problem.savings) {
    const double frequency = problem.regions[problem.nodes[saving.node].region].frequency;
    const auto node_itself = [](std::int32_t node) { return node; };
    if (together(saving, placement.on_host, placement.on_accelerator, node_itself)) saved += frequency * saving.host_seconds;
    if (together(saving, placement.on_accelerator, placement.on_host, node_itself)) saved += frequency * saving.accelerator_seconds;
  }
  return saved;
}

/// Checks in every build that the cost recomputed from the problem equals the claimed one. The tolerance includes the savings, since
/// rounding is relative to the costs before they are subtracted.
void certify(const PlacementProblem& problem, const CapacityScale& scale, const Answer& cut, Placement& placement) {
  const double claimed = scale.seconds(cut.value + cut.constant);
  const double rounding = 2 * scale.rounding() + 1e-9 * (placement.objective_seconds + saved_seconds(problem, placement));
  const bool exact = cut.bound >= static_cast<double>(cut.value);
  // Under a capacity, the cut may have paid for an unread copy that was dropped afterwards. With drivers, the cut is only a lower bound,
  // since it does not know their rule.
  CLEAVE_CHECK((placement.objective_seconds <= claimed + rounding || has_drivers(problem)) &&
                   (!exact || placement.objective_seconds >= claimed - rounding),
               "the cut does not cost what its flow certifies");
  placement.bound_seconds = exact ? claimed : scale.seconds(static_cast<std::int64_t>(cut.bound) + cut.constant);
  placement.bound_seconds = std::min(placement.bound_seconds, placement.objective_seconds);
  const double difference = placement.objective_seconds - placement.bound_seconds;
  placement.gap = difference <= rounding ? 0 : difference / placement.objective_seconds;
}

/// The placement if pins decide every class, so that no cut is needed.
std::optional<Placement> read_pins(const PlacementProblem& problem, const Contraction& contraction) {
  const auto is_pinned = [](const Contraction::Class& each) { return each.pin != Pin::none; };
  if (problem.accelerator_memory_bytes > 0 || !std::all_of(contraction.classes.begin(), contraction.classes.end(), is_pinned))
    return std::nullopt;
  Side host(problem.nodes.size()), accelerator(problem.nodes.size());
  for (std::size_t i = 0; i < host.size(); ++i) (contraction.classes[contraction.class_of[i]].pin == Pin::host ? host : accelerator)[i] = 1;
  Placement placement = evaluate(problem, std::move(host), std::move(accelerator));
  placement.bound_seconds = placement.objective_seconds;
  placement.gap = 0;
  return placement;
}

Side per_node(const Contraction& contraction, const Side& side) {
  Side result(contraction.class_of.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = side[contraction.class_of[i]];
  return result;
}

}  // namespace

Result<Placement> solve(const PlacementProblem& problem, const SolveOptions& options) {
  return detail::guard_memory([&]() -> Result<Placement> {
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = verify(problem); !status) return status.error();
    Result<Contraction> contraction = contract(problem);
    if (!contraction) return contraction.error();
    const auto timed = [begin](Placement placement) {
      placement.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return placement;
    };
    if (std::optional<Placement> pinned = read_pins(problem, *contraction)) return timed(*std::move(pinned));
    const UsesByValue uses(problem);
    const CapacityScale scale(problem, uses);
    if (options.reduce) reduce(problem, uses, scale, {.to_accelerator = problem.accelerator_memory_bytes <= 0}, *contraction);
    Result<Answer> answer = cut(problem, *contraction, uses, scale, options);
    if (!answer) return answer.error();
    drop_unread_replicas(problem, *contraction, answer->host, answer->accelerator);
    Placement result = evaluate(problem, uses, per_node(*contraction, answer->host), per_node(*contraction, answer->accelerator));
    if (has_drivers(problem)) result = bring_drivers(problem, std::move(result));
    certify(problem, scale, *answer, result);
    return timed(std::move(result));
  });
}

std::vector<double> execution_seconds(const PlacementProblem& problem, const Side& on_host, const Side& on_accelerator, DeviceId side) {
  std::vector<double> seconds(problem.nodes.size());
  for (std::size_t i = 0; i < seconds.size(); ++i)
    seconds[i] = side == kHost ? problem.nodes[i].host_seconds : problem.nodes[i].accelerator_seconds;
  const Side &here = side == kHost ? on_host : on_accelerator, &there = side == kHost ? on_accelerator : on_host;
  for (const auto& saving : problem.savings) {
    if (!together(saving, here, there, [](std::int32_t node) { return node; })) continue;
    // Sums may exceed the node's seconds by their rounding.
    seconds[saving.node] = std::max(0.0, seconds[saving.node] - (side == kHost ? saving.host_seconds : saving.accelerator_seconds));
  }
  return seconds;
}

Placement evaluate(const PlacementProblem& problem, std::vector<std::uint8_t> on_host, std::vector<std::uint8_t> on_accelerator) {
  return evaluate(problem, UsesByValue(problem), std::move(on_host), std::move(on_accelerator));
}

namespace {

std::string name_of(const PlacementProblem& problem, std::size_t i) {
  return "node " + std::to_string(i) + (problem.names.empty() || problem.names[i].empty() ? "" : " (" + problem.names[i] + ")");
}

void verify_nodes(const PlacementProblem& problem, const Placement& placement, std::vector<std::string>& broken) {
  std::vector<std::pair<std::int32_t, std::size_t>> grouped;
  double bytes = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const auto& node = problem.nodes[i];
    const bool host = placement.on_host[i], accelerator = placement.on_accelerator[i];
    auto broke = [&](const char* what) { broken.push_back(name_of(problem, i) + what); };
    if (!host && !accelerator) broke(" has no copy");
    if (host && accelerator && !node.replicable) broke(" has two copies, but may have one only");
    if (node.pin == Pin::host && (!host || accelerator)) broke(" is pinned to the host, but is not there alone");
    if (node.pin == Pin::accelerator && (host || !accelerator)) broke(" is pinned to the accelerator, but is not there alone");
    if (node.keep_accelerator_copy && !accelerator) broke(" must have a copy on the accelerator, but has none");
    if (node.group != PlacementProblem::kNoGroup) grouped.emplace_back(node.group, i);
    if (accelerator) bytes += node.accelerator_bytes;
  }
  if (problem.accelerator_memory_bytes > 0 && bytes > problem.accelerator_memory_bytes) {
    broken.push_back("the copies on the accelerator need " + format_bytes(bytes) + ", more than its memory");
  }
  std::sort(grouped.begin(), grouped.end());
  for (std::size_t i = 1; i < grouped.size(); ++i) {
    const std::size_t a = grouped[i - 1].second, b = grouped[i].second;
    if (grouped[i].first != grouped[i - 1].first) continue;
    if (placement.on_host[a] != placement.on_host[b] || placement.on_accelerator[a] != placement.on_accelerator[b]) {
      broken.push_back(name_of(problem, a) + " and " + name_of(problem, b) + " are in one group, but not on the same sides");
    }
  }
}

void verify_transfers(const PlacementProblem& problem, const Placement& placement, std::vector<std::string>& broken) {
  const RegionTree tree(problem.regions);
  const std::vector<std::uint8_t> is_driver = drivers_of(problem);
  std::vector<std::int32_t> start(2 * problem.values.size() + 1);  // by value and direction
  auto key = [](std::int32_t value, bool to_accelerator) { return 2 * static_cast<std::size_t>(value) + (to_accelerator ? 1 : 0); };
  for (const PlannedTransfer& t : placement.transfers) ++start[key(t.value, t.to == kAccelerator) + 1];
  for (std::size_t i = 0; i + 1 < start.size(); ++i) start[i + 1] += start[i];
  std::vector<std::int32_t> regions(placement.transfers.size()), next(start.begin(), start.end() - 1);
  for (const PlannedTransfer& t : placement.transfers) {
    regions[next[key(t.value, t.to == kAccelerator)]++] = t.region;
    const auto& value = problem.values[t.value];
    if (!placement.has_copy(static_cast<std::size_t>(value.node), t.from))
      broken.push_back("value " + std::to_string(t.value) + " is sent from a side where it has no copy");
    const std::int32_t driver = problem.regions[t.region].driver;
    if (driver != PlacementProblem::kNoDriver && !placement.on_host[driver])
      broken.push_back("value " + std::to_string(t.value) + " is sent where the host does not come by");
    if (t.to == kHost && is_driver[static_cast<std::size_t>(value.node)])
      broken.push_back(name_of(problem, static_cast<std::size_t>(value.node)) + " is a driver that only the host can tell others of");
    if (!tree.within(t.region, value.region))
      broken.push_back("value " + std::to_string(t.value) + " is sent outside the region where it lives");
  }
  for (std::size_t i = 0; i < problem.uses.size(); ++i) {
    const auto& use = problem.uses[i];
    const std::int32_t producer = problem.values[use.value].node;
    for (const bool to_accelerator : {false, true}) {
      const auto& there = to_accelerator ? placement.on_accelerator : placement.on_host;
      if (!there[use.node] || there[producer]) continue;
      const std::size_t k = key(use.value, to_accelerator);
      const bool reached = std::any_of(regions.begin() + start[k], regions.begin() + start[k + 1],
                                       [&](std::int32_t region) { return tree.within(use.region, region); });
      if (!reached) {
        broken.push_back("use " + std::to_string(i) + " of value " + std::to_string(use.value) + " is not reached on the " +
                         (to_accelerator ? "accelerator" : "host"));
      }
    }
  }
}

}  // namespace

std::vector<std::string> verify(const PlacementProblem& problem, const Placement& placement) {
  if (placement.on_host.size() != problem.nodes.size() || placement.on_accelerator.size() != problem.nodes.size()) {
    return {"the placement has another number of nodes than the problem"};
  }
  std::vector<std::string> broken;
  verify_nodes(problem, placement, broken);
  verify_transfers(problem, placement, broken);
  return broken;
}

}  // namespace cleave::planner
