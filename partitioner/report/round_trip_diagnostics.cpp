// Messages about round trips: the operation that waits, the values sent and returned, the cost, the cause, and the cure.
#include <algorithm>
#include <set>

#include "graph/base/diagnostic_folding.h"
#include "graph/base/diagnostic_help.h"
#include "graph/base/units.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNotes = 3;  ///< most values named for each direction

class RoundTripDiagnosticWriter {
 public:
  RoundTripDiagnosticWriter(const Plan& plan, const TriedEdits& tried)
      : plan_(plan),
        graph_(*plan.graph),
        uses_(*plan.costed.uses),
        deliveries_(graph_, uses_, plan.placement, plan.transfers.items),
        tried_(tried) {}

  /// Writes the diagnostic of a round trip. Edits that it advises are added to `advice`.
  Diagnostic write(const RoundTrip& trip, Severity severity, std::vector<Advice>& advice) {
    const Node& blamed = graph_.nodes[trip.blamed];
    Diagnostic d{DiagnosticKind::round_trip, severity, "", blamed.location, 0, {}};
    d.message = "`" + culprit_phrase(graph_, trip.blamed) + "` makes the accelerator wait for the host" + how_often(trip.region);
    add_ways_out(trip, d.notes);
    add_starts(trip, d.notes);
    add_ways_back(trip, d.notes);
    d.price = price(trip);
    d.price->note = d.notes.size();
    d.notes.push_back({to_text(*d.price), {}, 0});
    d.notes.push_back({"runs on the host because " + reason(trip) + this->advice(trip, d.notes.size(), advice), {}, 0});
    add_marks(trip, d.notes, advice);
    if (severity == Severity::allowed) d.notes.push_back(allowance_note(trip.allowed));
    return d;
  }

 private:
  std::string how_often(RegionId region) const {
    const RegionKind kind = graph_.regions[region].kind;
    if (kind == RegionKind::for_body || kind == RegionKind::while_body || kind == RegionKind::while_condition) return " in every iteration";
    for (; region; region = graph_.regions[region].parent) {
      const RegionKind outer = graph_.regions[region].kind;
      if (outer == RegionKind::for_body || outer == RegionKind::while_body || outer == RegionKind::while_condition) {
        return " in every iteration that takes this branch";
      }
    }
    return "";
  }

  void add_ways_out(const RoundTrip& trip, std::vector<Note>& notes) const {
    for (std::size_t i = 0; i < std::min(trip.out.size(), kMostNotes); ++i) {
      const Transfer& t = plan_.transfers.items[trip.out[i]];
      notes.push_back({value_phrase(graph_, t.value) + " (" + type_phrase(graph_.values[t.value].type) + ") leaves the accelerator here",
                       t.location, 0});
    }
    if (trip.out.size() > kMostNotes)
      notes.push_back({std::to_string(trip.out.size() - kMostNotes) + " more values leave the accelerator", {}, 0});
  }

  void add_starts(const RoundTrip& trip, std::vector<Note>& notes) const {
    for (std::size_t i = 0; i < std::min(trip.starts.size(), kMostNotes); ++i)
      notes.push_back({"the accelerator's decision starts the work of the host here (through " + control_phrase(trip.starts[i]) + ")",
                       graph_.nodes[trip.starts[i]].location, 0});
  }
  [[nodiscard]] std::string control_phrase(NodeId control) const {
    return graph_.nodes[control].kind == NodeKind::branch ? "the branch" : "the loop";
  }

  void add_ways_back(const RoundTrip& trip, std::vector<Note>& notes) const {
    std::vector<NodeId> needed;
    for (std::size_t t : trip.back) {
      const auto uses = deliveries_.of(t);
      if ((trip.via != Via::data && trip.starts.empty()) || uses.empty()) continue;
      const NodeId reader = reader_behind(earliest(uses));
      if (std::find(needed.begin(), needed.end(), reader) == needed.end()) needed.push_back(reader);
    }
    for (std::size_t i = 0; i < std::min(needed.size(), kMostNotes); ++i) {
      notes.push_back({"accelerator work depends on the result here", graph_.nodes[needed[i]].location, 0});
    }
    if (needed.size() > kMostNotes) notes.push_back({"and in " + std::to_string(needed.size() - kMostNotes) + " more places", {}, 0});
    if (trip.delays) {
      notes.push_back({"accelerator work depends on the result of `" + culprit_phrase(graph_, trip.delays) +
                           "` here, which comes after it in the order of effects",
                       graph_.nodes[trip.delays].location, 0});
    }
    for (std::size_t i = 0; i < std::min(trip.controls.size(), kMostNotes); ++i) {
      notes.push_back({"accelerator work depends on the result here (through " + control_phrase(trip.controls[i]) + ")",
                       graph_.nodes[trip.controls[i]].location, 0});
    }
  }

  NodeId earliest(std::span<const ValueUse> uses) const {
    return std::min_element(uses.begin(), uses.end(),
                            [&](const ValueUse& a, const ValueUse& b) { return uses_.begin(a.node) < uses_.begin(b.node); })
        ->node;
  }

  /// The first accelerator operation that reads the value of a carried or merge node, through further such nodes, or none.
  NodeId reader_behind(NodeId name) const {
    std::set<NodeId> seen{name};
    std::vector<NodeId> names{name};
    NodeId first;
    while (!names.empty() && graph_.nodes[name].kind != NodeKind::operation) {
      const Node& node = graph_.nodes[names.back()];
      names.pop_back();
      for (const ValueId result : node.results) {
        for (const ValueUse& use : uses_.of(result)) {
          if (use.host_only() || use.decides() || !plan_.placement.has_copy(use.node.index, kAccelerator)) continue;
          if (graph_.nodes[use.node].kind != NodeKind::operation) {
            if (seen.insert(use.node).second) names.push_back(use.node);
          } else if (!first || uses_.begin(use.node) < uses_.begin(first)) {
            first = use.node;
          }
        }
      }
    }
    return first ? first : name;
  }

  Price price(const RoundTrip& trip) const {
    double back = trip.back_bytes;
    for (NodeId control : trip.controls) back += decision_bytes(control);
    // If work overlaps, a run may be shorter than the sum of its parts.
    const double whole = plan_.predicted_seconds >= trip.seconds ? plan_.predicted_seconds : plan_.placement.objective_seconds;
    return {trip.seconds,
            trip.out_bytes,
            back,
            whole,
            often_phrase(graph_, trip.region, trip.frequency),
            std::string(to_string(trip.cause)) + "/" + std::string(to_string(trip.via)),
            machine_phrase(plan_.machine)};
  }

  /// Bytes of the host's decisions in a run: a predicate for each test, or a count.
  double decision_bytes(NodeId control) const {
    const Node& node = graph_.nodes[control];
    double bytes = 0;
    for (ValueId value : node.inputs) bytes += static_cast<double>(graph_.values[value].type.bytes()) * plan_.costed.frequency[node.region];
    for (RegionId region : node.regions) {
      if (graph_.regions[region].predicate) bytes += plan_.costed.frequency[region];
    }
    return bytes;
  }

  std::string reason(const RoundTrip& trip) const {
    const Node& node = graph_.nodes[trip.blamed];
    const HostFunction* function = node.host_function();
    if (node.pin.by_rule()) return cause_phrase(trip.cause, node);
    switch (trip.cause) {
      case Cause::pinned: return node.op && node.op->moves_to == Side::host ? "to_host() puts it there" : "it is pinned there";
      case Cause::effect: return function ? "it is a host function with effects" : "it has an effect";
      case Cause::no_kernel: return function ? "it is a host function" : "the accelerator has no kernel for it";
      default: return cause_phrase(trip.cause, node);
    }
  }

  /// The cure of the round trip, if it would save time, as text for note number `note`.
  std::string advice(const RoundTrip& trip, std::size_t note, std::vector<Advice>& edits) const {
    const TriedEdits::RoundTripCure& cure = tried_.round_trips[static_cast<std::size_t>(&trip - plan_.round_trips.data())];
    const double least = kWorthSaying * plan_.predicted_seconds;
    if (cure.saved_by_overlapping && *cure.saved_by_overlapping >= least)
      return "; hidden behind other work it would save up to about " + format_seconds(*cure.saved_by_overlapping);
    if (!cure.saved_by_freeing || *cure.saved_by_freeing < least) return "";
    const double saved = *cure.saved_by_freeing;
    const Node& blamed = graph_.nodes[trip.blamed];
    if (blamed.pin.by_rule()) return saved_without(blamed.pin, saved);
    const bool pinned = trip.cause == Cause::pinned;
    if (pinned) edits.push_back({Advice::Action::remove_pin, {{blamed.location, "", {}}}, {}, saved, note});
    const std::string places = cure.freed_nodes > 1 ? " at its " + std::to_string(cure.freed_nodes) + " places" : "";
    return (pinned ? "; remove the pin" : "; give it an accelerator kernel" + places) + " (saves about " + format_seconds(saved) + ")";
  }

  /// The saving without a pin that comes from a rule rather than from the user, who therefore cannot remove it.
  static std::string saved_without(const Pin& rule, double seconds) {
    return std::string(rule.for_want_of_kernel ? "; one would save about " : "; without that a run would take less by about ") +
           format_seconds(seconds);
  }

  /// Advises where to_host() would mark the round trip as intended. Adds nothing if no mark helps, or if the program is not written in a
  /// language of cleave: locations in the source of an ONNX file have no columns.
  void add_marks(const RoundTrip& trip, std::vector<Note>& notes, std::vector<Advice>& edits) const {
    if (!trip.caused_by_user() || trip.marks.empty() || trip.marks.size() > kMostNotes) return;
    if (graph_.nodes[trip.blamed].location.column <= 0) return;
    Advice meant{Advice::Action::mark_to_host, {}, {}, 0, 0};
    const char* joint = trip.marks.size() > 1 ? "if it is meant, mark " : "mark ";
    for (const Reading& mark : trip.marks) {
      const std::string where = trip.marks.size() > 1 ? " with to_host() here" : " with to_host() here if this is meant";
      notes.push_back({joint + value_phrase(graph_, mark.value) + where, graph_.nodes[mark.reader].location, 0});
      meant.places.push_back(reading(mark));
      joint = "and ";
    }
    meant.note = notes.size() - 1;
    edits.push_back(std::move(meant));
  }

  [[nodiscard]] Advice::Place reading(const Reading& mark) const {
    const Value& value = graph_.values[mark.value];
    return {graph_.nodes[mark.reader].location, value.name, graph_.nodes[value.producer].location};
  }

  const Plan& plan_;
  const Graph& graph_;
  const ValueUses& uses_;
  const Deliveries deliveries_;
  const TriedEdits& tried_;
};

}  // namespace

void diagnose_round_trips(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  if (plan.round_trips.empty()) return;
  std::vector<std::pair<const RoundTrip*, Severity>> said;
  for (const RoundTrip& trip : plan.round_trips) {
    if (const std::optional<Severity> severity = severity_of(trip, options)) said.emplace_back(&trip, *severity);
  }
  std::stable_sort(said.begin(), said.end(), [](const auto& a, const auto& b) { return a.first->seconds > b.first->seconds; });
  RoundTripDiagnosticWriter writer(plan, tried);
  for (const auto& [trip, severity] : said) {
    std::vector<Advice> its;
    Diagnostic written = writer.write(*trip, severity, its);
    add_advised(std::move(written), std::move(its), diagnosis);
  }
}

}  // namespace cleave::planner
