// Diagnostics of transfers, of waiting, of operations without a kernel, and of limits.
#include <algorithm>
#include <cmath>

#include "graph/base/units.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/report/depth_text.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr double kBoundShare = 0.1;            ///< fraction of the time of the run or a loop from which on waiting is reported
constexpr std::size_t kMostTransferNotes = 5;  ///< most transfers listed under one limit

std::string direction_phrase(const Transfer& t) {
  return t.to == kHost ? "from the accelerator to the host" : "from the host to the accelerator";
}

class LimitChecker {
 public:
  LimitChecker(const Plan& plan, Diagnostics& diagnostics) : plan_(plan), limits_(plan.graph->limits), diagnostics_(diagnostics) {}

  void run() {
    const auto& items = plan_.transfers.items;
    const auto round_trips =
        std::count_if(plan_.round_trips.begin(), plan_.round_trips.end(), [](const RoundTrip& t) { return t.warned(); });
    double bytes = 0;
    for (const Transfer& t : items) bytes += static_cast<double>(t.bytes) * t.frequency;

    if (limits_.round_trips && round_trips > *limits_.round_trips) {
      std::vector<Note> notes;
      for (const RoundTrip& trip : plan_.round_trips) {
        if (trip.warned())
          notes.push_back({"through `" + culprit_phrase(*plan_.graph, trip.blamed) + "`", plan_.graph->nodes[trip.blamed].location, 0});
      }
      complain(counted(round_trips, "round trip"), "round_trips", number(static_cast<double>(*limits_.round_trips)), std::move(notes));
    }
    if (limits_.transfers && static_cast<std::int64_t>(items.size()) > *limits_.transfers) {
      complain(counted(static_cast<std::int64_t>(items.size()), "transfer"), "transfers", number(static_cast<double>(*limits_.transfers)),
               list_transfers());
    }
    if (limits_.bytes_per_run && bytes > static_cast<double>(*limits_.bytes_per_run)) {
      complain(format_bytes(bytes) + " of transfers a run", "bytes_per_run", format_bytes(static_cast<double>(*limits_.bytes_per_run)),
               list_transfers());
    }
  }

 private:
  static std::string counted(std::int64_t count, const std::string& what) {
    return number(static_cast<double>(count)) + " " + what + (count == 1 ? "" : "s");
  }

  std::vector<Note> list_transfers() const {
    std::vector<const Transfer*> largest;
    for (const Transfer& t : plan_.transfers.items) largest.push_back(&t);
    std::stable_sort(largest.begin(), largest.end(), [](const Transfer* a, const Transfer* b) {
      return static_cast<double>(a->bytes) * a->frequency > static_cast<double>(b->bytes) * b->frequency;
    });
    std::vector<Note> notes;
    for (const Transfer* t : largest) {
      if (notes.size() == kMostTransferNotes) break;
      notes.push_back({value_phrase(*plan_.graph, t->value) + " (" + type_phrase(plan_.graph->values[t->value].type) + ") " +
                           direction_phrase(*t) + ", " + times_phrase(*plan_.graph, t->region, t->frequency),
                       t->location, 0});
    }
    return notes;
  }

  void complain(const std::string& found, const std::string& limit, const std::string& allowed, std::vector<Note> notes) {
    const std::size_t all = notes.size();
    if (all > kMostTransferNotes) {
      notes.resize(kMostTransferNotes);
      notes.push_back({"and " + std::to_string(all - kMostTransferNotes) + " more", {}, 0});
    }
    diagnostics_.error(DiagnosticKind::limit, limits_.location,
                       "the plan has " + found + ", more than the limit `" + limit + ": " + allowed + "` allows", std::move(notes));
  }

  const Plan& plan_;
  const Limits& limits_;
  Diagnostics& diagnostics_;
};

/// The predicate or count of a loop or branch; none if the trip count is known.
ValueId decided_by(const Graph& graph, const Node& control) {
  return control.kind == NodeKind::while_loop ? graph.regions[control.regions[0]].predicate
         : control.inputs.empty()             ? ValueId()
                                              : control.inputs[0];
}

/// "the host's decision `flag == 0`, made of `cpu_only`", where `cpu_only` is the host function that made an operand.
std::string decision_phrase(const Graph& graph, NodeId control) {
  const ValueId value = decided_by(graph, graph.nodes[control]);
  if (!value) return "the host's decision";
  const NodeId decides = graph.values[value].producer;
  std::string text = "the host's decision `" + culprit_phrase(graph, decides) + "`";
  for (const ValueId operand : graph.nodes[decides].inputs) {
    const HostFunction* function = graph.producer(operand).host_function();
    if (function && !function->name.empty()) return text + ", made of `" + std::string(function->name) + "`";
  }
  return text;
}

}  // namespace

void diagnose_copies(const Plan& plan, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::implicit_copy);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  const Deliveries deliveries(graph, *plan.costed.uses, plan.placement, plan.transfers.items);
  for (std::size_t i = 0; i < plan.transfers.items.size(); ++i) {
    const Transfer& t = plan.transfers.items[i];
    const bool to_host = t.to == kHost;
    if (t.kind != TransferKind::send || t.is_explicit) continue;
    if (options.implicit_copy_direction == (to_host ? "to-accelerator" : "to-host")) continue;
    Diagnostic d{DiagnosticKind::implicit_copy, *severity, "", t.location, 0, {}};
    d.message = value_phrase(graph, t.value) + " (" + type_phrase(graph.values[t.value].type) + ") is copied " + direction_phrase(t) + " " +
                times_phrase(graph, t.region, t.frequency);
    std::vector<NodeId> ends{graph.values[t.value].producer};
    for (const ValueUse& use : deliveries.of(i)) ends.push_back(use.node);
    if (!deliveries.of(i).empty() && deliveries.of(i)[0].node) {
      d.notes.push_back({std::string("needed on the ") + (to_host ? "host" : "accelerator") + " here",
                         graph.nodes[deliveries.of(i)[0].node].location, 0});
    }
    std::vector<Advice> its;
    if (deliveries.of(i).size() == 1 && deliveries.of(i)[0].node) {
      const Value& value = graph.values[t.value];
      its.push_back({to_host ? Advice::Action::mark_to_host : Advice::Action::mark_to_accelerator,
                     {{graph.nodes[deliveries.of(i)[0].node].location, value.name, graph.nodes[value.producer].location}},
                     {},
                     0,
                     d.notes.size()});
    }
    d.notes.push_back({std::string("mark it with ") + (to_host ? "to_host()" : "to_accelerator()") + " if it is meant", {}, 0});
    allow_as_marked(d, graph, ends);
    add_advised(std::move(d), std::move(its), diagnosis);
  }
}

void diagnose_fallbacks(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::fallback);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    if (!lacks_kernel(plan, id)) continue;
    Diagnostic d{DiagnosticKind::fallback, *severity, "", node.location, 0, {}};
    d.message = "`" + culprit_phrase(graph, id) + "` runs on the host only because " + cause_phrase(Cause::no_kernel, node);
    const double frequency = plan.costed.frequency[node.region];
    std::string cost = often_phrase(graph, node.region, frequency) + ", " +
                       format_seconds(frequency * plan.costed.problem.nodes[i].host_seconds) + " on the host";
    if (const auto saved = tried.kernels.find(id); saved != tried.kernels.end() && saved->second > 0)
      cost += "; an accelerator kernel would save about " + format_seconds(saved->second);
    d.notes.push_back({cost, {}, 0});
    allow_as_marked(d, graph, {&id, 1});
    diagnosis.diagnostics.add(std::move(d));
  }
}

void diagnose_waiting(const Plan& plan, const Schedule& schedule, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::transfer_bound);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  std::vector<std::pair<ChannelId, NodeId>> blamed;
  // Inner loops come later in program order and name a cause more precisely. Each cause is reported once.
  for (auto w = schedule.waiting.rbegin(); w != schedule.waiting.rend(); ++w) {
    const std::pair cause(w->worst, w->worst_control);
    if (w->wait_seconds <= kBoundShare * w->seconds || (!w->worst && !w->worst_control)) continue;
    if (std::find(blamed.begin(), blamed.end(), cause) != blamed.end()) continue;
    blamed.push_back(cause);
    const NodeId node = w->worst ? graph.values[plan.program.channels[w->worst].value].producer : w->worst_control;
    const std::string what =
        w->worst ? value_phrase(graph, plan.program.channels[w->worst].value) : decision_phrase(graph, w->worst_control);
    Diagnostic d{DiagnosticKind::transfer_bound, *severity, "", graph.nodes[node].location, 0, {}};
    d.message = "the accelerator waits for " + percent(w->wait_seconds, w->seconds) + (w->loop ? " of the loop's time" : " of the run") +
                ", longest for " + what;
    if (w->loop) d.notes.push_back({"in this loop", graph.nodes[w->loop].location, 0});
    d.notes.push_back({"about " + format_seconds(w->wait_seconds) + " of " + format_seconds(w->seconds) +
                           (w->loop ? " an execution of the loop" : "") + " predicted (" + machine_phrase(plan.machine) + ")",
                       {},
                       0});
    if (w->worst && limited_depth(plan, w->worst)) d.notes.push_back({limited_depths_phrase(plan), {}, 0});
    allow_as_marked(d, graph, {&node, 1});
    diagnosis.diagnostics.add(std::move(d));
  }
}

void diagnose_limits(const Plan& plan, Diagnosis& diagnosis) {
  LimitChecker(plan, diagnosis.diagnostics).run();
}

}  // namespace cleave::planner
