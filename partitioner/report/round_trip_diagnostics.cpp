// The wording of a round trip: what waits, where the values leave and are needed, what it costs, why, and what would help.
#include <algorithm>
#include <cmath>

#include "graph/base/diagnostic_folding.h"
#include "graph/base/units.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/report/transfer_diagnostics.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNotes = 3;  ///< values named, each way
constexpr int kMostSolves = 8;         ///< savings computed

class Writer {
 public:
  Writer(const Plan& plan)
      : plan_(plan), graph_(*plan.graph), uses_(*plan.costed.uses), deliveries_(graph_, uses_, plan.placement, plan.transfers.items) {}

  Diagnostic write(const RoundTrip& trip, Severity severity) {
    const Node& blamed = graph_.nodes[trip.blamed];
    Diagnostic d{DiagnosticKind::round_trip, severity, "", blamed.location, 0, {}};
    d.message = "`" + culprit_name(graph_, trip.blamed) + "` makes the accelerator wait for the host" + how_often(blamed.region);
    add_ways_out(trip, d.notes);
    add_ways_back(trip, d.notes);
    d.price = price(trip);
    d.price->note = d.notes.size();
    d.notes.push_back({to_text(*d.price), {}, 0});
    d.notes.push_back({"runs on the host because " + reason(trip) + "; " + advice(trip), {}, 0});
    if (severity == Severity::allowed) d.notes.push_back({"allowed: " + trip.allowed, {}, 0});
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
    add_rest(trip.out.size(), "leave the accelerator", notes);
  }

  void add_ways_back(const RoundTrip& trip, std::vector<Note>& notes) const {
    std::vector<NodeId> needed;
    for (std::size_t t : trip.back) {
      const auto uses = deliveries_.of(t);
      if (trip.via == Via::data && !uses.empty()) needed.push_back(earliest(uses));
    }
    for (std::size_t i = 0; i < std::min(needed.size(), kMostNotes); ++i) {
      notes.push_back({"accelerator work depends on the result here", graph_.nodes[needed[i]].location, 0});
    }
    add_rest(needed.size(), "go back", notes);
    if (trip.delays) {
      notes.push_back({"accelerator work depends on the result of `" + culprit_name(graph_, trip.delays) +
                           "` here, which comes after it in the order of effects",
                       graph_.nodes[trip.delays].location, 0});
    }
    for (std::size_t i = 0; i < std::min(trip.controls.size(), kMostNotes); ++i) {
      const Node& control = graph_.nodes[trip.controls[i]];
      notes.push_back({std::string("accelerator work depends on the result here (through the ") +
                           (control.kind == NodeKind::branch ? "branch)" : "loop)"),
                       control.location, 0});
    }
  }

  static void add_rest(std::size_t count, const std::string& what, std::vector<Note>& notes) {
    if (count > kMostNotes) notes.push_back({std::to_string(count - kMostNotes) + " more values " + what, {}, 0});
  }

  NodeId earliest(std::span<const ValueUse> uses) const {
    return std::min_element(uses.begin(), uses.end(),
                            [&](const ValueUse& a, const ValueUse& b) { return uses_.begin(a.node) < uses_.begin(b.node); })
        ->node;
  }

  Price price(const RoundTrip& trip) const {
    double back = trip.back_bytes;
    for (NodeId control : trip.controls) back += decision_bytes(control);
    // Work that overlaps may make a run shorter than the sum of its parts.
    const double whole = plan_.predicted_seconds >= trip.seconds ? plan_.predicted_seconds : plan_.placement.objective_seconds;
    return {trip.seconds,
            trip.out_bytes,
            back,
            whole,
            times_phrase(graph_, graph_.nodes[trip.blamed].region, trip.frequency),
            std::string(to_string(trip.cause)) + "/" + std::string(to_string(trip.via)),
            machine_phrase(plan_.machine)};
  }

  /// What the host tells in a run: a predicate each time it is tested, or a count.
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
    switch (trip.cause) {
      case Cause::pinned: return node.op && node.op->moves_to == Side::host ? "to_host() puts it there" : "it is pinned there";
      case Cause::effect: return function ? "it is a host function with effects" : "it has an effect";
      case Cause::no_kernel: return function ? "it is a host function" : "the accelerator has no kernel for it";
      case Cause::memory: return "the accelerator's memory is full";
      default: break;
    }
    return "that is cheaper by the cost model";
  }

  std::string advice(const RoundTrip& trip) {
    const std::string mark = "mark what it reads with to_host() if this is meant";
    const std::string overlap = "overlap it with work that does not depend on it";
    const std::optional<double> saving = saved(trip);
    const std::string amount = saving ? " (saves up to " + format_seconds(*saving) + ")" : "";
    const bool no_gain = saving && *saving <= 0;  // then moving it is no advice
    switch (trip.cause) {
      case Cause::pinned: return no_gain ? mark : "remove the pin" + amount + ", or " + mark;
      case Cause::effect: return mark + ", or " + overlap;
      case Cause::no_kernel: return mark + (no_gain ? ", or " + overlap : ", overlap it, or give it an accelerator kernel" + amount);
      case Cause::memory: return "make room on the accelerator, or " + mark;
      default: break;
    }
    return "nothing to do unless the machine file is wrong";
  }

  /// Nothing where it was not computed.
  std::optional<double> saved(const RoundTrip& trip) {
    if ((trip.cause != Cause::no_kernel && trip.cause != Cause::pinned) || solves_++ >= kMostSolves) return std::nullopt;
    return saved_by_kernel(plan_, trip.blamed);
  }

  const Plan& plan_;
  const Graph& graph_;
  const ValueUses& uses_;
  const Deliveries deliveries_;
  int solves_ = 0;
};

/// Nothing: it is not mentioned.
std::optional<Severity> severity_of(const RoundTrip& trip, const DiagnosticOptions& options) {
  if (trip.meant) return std::nullopt;
  const std::optional<Severity> severity = trip.caused_by_user()        ? options.severity_of(DiagnosticKind::round_trip)
                                           : options.round_trip_remarks ? std::optional(Severity::remark)
                                                                        : std::nullopt;
  return severity && !trip.allowed.empty() ? Severity::allowed : severity;
}

}  // namespace

void diagnose_round_trips(const Plan& plan, const DiagnosticOptions& options, Diagnostics& diagnostics) {
  if (plan.round_trips.empty()) return;
  Writer writer(plan);
  for (const RoundTrip& trip : plan.round_trips) {
    if (const std::optional<Severity> severity = severity_of(trip, options)) diagnostics.add(writer.write(trip, *severity));
  }
}

}  // namespace cleave::planner
