#include "partitioner/advice/tried_edits.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "graph/written.h"
#include "partitioner/advice/cures.h"

namespace cleave::planner {
namespace {

/// Tries the cures of round trips. Round trips with the same cure share one trial.
class RoundTripCures {
 public:
  RoundTripCures(const Plan& plan, Trials& trials) : plan_(plan), graph_(*plan.graph), trials_(trials) {}

  TriedEdits::RoundTripCure cure(std::size_t index) {
    const RoundTrip& trip = plan_.round_trips[index];
    if (graph_.nodes[trip.blamed].host_function()) return {0, std::nullopt, overlapping(index)};
    if (trip.cause != Cause::no_kernel && trip.cause != Cause::pinned) return {};
    return freeing(trip.blamed);
  }

 private:
  /// The accelerator can have no kernel for a user's function, but the function can run while the accelerator has other work.
  std::optional<double> overlapping(std::size_t index) {
    constexpr std::size_t kMostSimulated = 20;
    if (simulated_ >= kMostSimulated || !trials_.may_try()) return std::nullopt;
    ++simulated_;
    return plan_.predicted_seconds - seconds_without(plan_.program, plan_.costed, plan_.transfers, plan_.round_trips, index);
  }

  /// Identifies an edit by all that it frees together: the pins of one statement, the calls of a function, or the nodes of an op.
  using Edit = std::tuple<Cause, std::string, int>;
  [[nodiscard]] Edit edit_of(NodeId node) const {
    const Cause cause = plan_.costed.forced[node.index];
    const SourceLocation& location = graph_.nodes[node].location;
    if (const Pin& pin = graph_.nodes[node].pin; pin.by_rule()) return {cause, pin.reason, -1};
    if (cause == Cause::pinned) return {cause, std::string(location.file_name()), location.line};
    return {cause, culprit_name(graph_, node), 0};
  }

  TriedEdits::RoundTripCure freeing(NodeId node) {
    const Edit edit = edit_of(node);
    const auto [known, fresh] = tried_.try_emplace(edit);
    if (!fresh || !trials_.may_try()) return known->second;
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId other(i);
      if (graph_.nodes[other].kind != NodeKind::operation || plan_.costed.forced[i] != std::get<Cause>(edit)) continue;
      if (edit_of(other) == edit) nodes.push_back(other);
    }
    const bool pin = std::get<Cause>(edit) == Cause::pinned && !graph_.nodes[node].pin.by_rule();
    return known->second = {nodes.size(), pin ? trials_.saved_by_unpinning(nodes) : trials_.saved_by_freeing(nodes), std::nullopt};
  }

  const Plan& plan_;
  const Graph& graph_;
  Trials& trials_;
  std::map<Edit, TriedEdits::RoundTripCure> tried_;
  std::size_t simulated_ = 0;  ///< number of simulated runs without a round trip
};

/// Costliest first, since there may not be time to try the cures of all.
std::vector<TriedEdits::RoundTripCure> try_round_trips(const Plan& plan, Trials& trials, const DiagnosticOptions& options) {
  std::vector<TriedEdits::RoundTripCure> tried(plan.round_trips.size());
  std::vector<std::size_t> said;
  for (std::size_t i = 0; i < plan.round_trips.size(); ++i)
    if (severity_of(plan.round_trips[i], options)) said.push_back(i);
  std::stable_sort(said.begin(), said.end(),
                   [&](std::size_t a, std::size_t b) { return plan.round_trips[a].seconds > plan.round_trips[b].seconds; });
  RoundTripCures cures(plan, trials);
  for (const std::size_t i : said) tried[i] = cures.cure(i);
  return tried;
}

std::vector<TriedEdits::Hoisting> try_hoisting(const Plan& plan, Trials& trials) {
  std::vector<TriedEdits::Hoisting> worthwhile;
  for (InvariantWork& work : find_invariant_work(*plan.graph, plan.costed, plan.placement)) {
    const std::optional<double> saved = trials.saved_by_hoisting(work.nodes, work.loop);
    if (saved && *saved >= kWorthSaying * plan.predicted_seconds) worthwhile.push_back({std::move(work), *saved});
  }
  return worthwhile;
}

/// The operations that one `place` of the user pins, by file, line and side.
using Pinned = std::map<std::tuple<std::string, int, Side>, std::vector<NodeId>>;

Pinned find_pinned(const Graph& graph) {
  Pinned pinned;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != NodeKind::operation || !node.pin.by_user()) continue;
    pinned[{std::string(node.location.file_name()), node.location.line, node.pin.side}].emplace_back(i);
  }
  return pinned;
}

/// Whether another diagnostic covers these pins: a warning of a round trip reports their cost, and loop-invariant work should be hoisted
/// first.
bool covered(const Plan& plan, const std::vector<NodeId>& nodes, const std::vector<TriedEdits::Hoisting>& hoistings) {
  const SourceLocation& at = plan.graph->nodes[nodes[0]].location;
  const bool hoisted = std::any_of(hoistings.begin(), hoistings.end(), [&](const TriedEdits::Hoisting& hoisting) {
    const SourceLocation& said = plan.graph->nodes[hoisting.work.blamed].location;
    return said.line == at.line && said.file_name() == at.file_name();
  });
  return hoisted || std::any_of(plan.round_trips.begin(), plan.round_trips.end(), [&](const RoundTrip& trip) {
           return trip.caused_by_user() && std::find(nodes.begin(), nodes.end(), trip.blamed) != nodes.end();
         });
}

std::vector<TriedEdits::Unpinning> try_unpinning(const Plan& plan, Trials& trials, const std::vector<TriedEdits::Hoisting>& hoistings) {
  std::vector<TriedEdits::Unpinning> worthwhile;
  for (auto& [place, nodes] : find_pinned(*plan.graph)) {
    if (covered(plan, nodes, hoistings)) continue;
    const std::optional<double> saved = trials.saved_by_unpinning(nodes);
    if (saved && worth_warning(plan, *saved)) worthwhile.push_back({std::get<Side>(place), nodes, *saved});
  }
  return worthwhile;
}

std::map<NodeId, double> try_kernels(const Plan& plan, Trials& trials) {
  std::map<NodeId, double> kernels;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    const NodeId id(i);
    if (!lacks_kernel(plan, id)) continue;
    if (const std::optional<double> saved = trials.saved_by_freeing({&id, 1})) kernels[id] = *saved;
  }
  return kernels;
}

}  // namespace

std::optional<Severity> severity_of(const RoundTrip& trip, const DiagnosticOptions& options) {
  if (trip.meant || trip.hidden) return std::nullopt;
  const std::optional<Severity> severity = trip.caused_by_user()        ? options.severity_of(DiagnosticKind::round_trip)
                                           : options.round_trip_remarks ? std::optional(Severity::remark)
                                                                        : std::nullopt;
  return severity && !trip.allowed.empty() ? Severity::allowed : severity;
}

bool worth_warning(const Plan& plan, double seconds) {
  constexpr double kShare = 0.1, kSeconds = 1e-3;
  return seconds >= kShare * plan.predicted_seconds && seconds >= kSeconds;
}

bool lacks_kernel(const Plan& plan, NodeId node) {
  return plan.costed.forced[node.index] == Cause::no_kernel && plan.graph->nodes[node].op && !plan.graph->nodes[node].host_function();
}

TriedEdits try_edits(const Plan& plan, Trials& trials, const DiagnosticOptions& options) {
  TriedEdits tried;
  tried.round_trips = try_round_trips(plan, trials, options);
  if (options.severity_of(DiagnosticKind::invariant_host_work)) tried.hoistings = try_hoisting(plan, trials);
  if (options.severity_of(DiagnosticKind::costly_pin)) tried.unpinnings = try_unpinning(plan, trials, tried.hoistings);
  if (options.severity_of(DiagnosticKind::fallback)) tried.kernels = try_kernels(plan, trials);
  return tried;
}

}  // namespace cleave::planner
