// `cleave explain` for people: the place of each operation with the reason, and each transfer with its cost, on one screen for small
// models.
#include <algorithm>
#include <cmath>
#include <set>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/states.h"
#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/apply/fused_kernels.h"
#include "partitioner/machine/pins.h"
#include "partitioner/report/cost_sources.h"
#include "partitioner/report/depth_text.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/memory_figures.h"
#include "partitioner/report/totals.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

std::string ratio(double seconds, double to, const std::string& remark = "") {
  return to > 0 ? " (" + number(std::round(seconds / to * 100) / 100) + "x" + remark + ")" : "";
}

class Report {
 public:
  Report(const Plan& plan, std::size_t most_rows)
      : plan_(plan),
        graph_(*plan.graph),
        fused_(fused_kernels(plan.program, plan.costed, plan.placement)),
        memory_(memory_figures(plan)),
        totals_(totals(plan)),
        most_rows_(most_rows) {}

  std::string run() {
    head();
    device(kHost);
    device(kAccelerator);
    transfers();
    round_trips();
    return std::move(out_);
  }

 private:
  void head() {
    const Placement& placement = plan_.placement;
    out_ += "model `" + escape_controls_one_line(graph_.name) + "`, " + machine_phrase(plan_.machine) + ", placement " +
            std::string(to_string(plan_.policy)) +
            (plan_.precision == Precision::f32 ? "" : ", matrix products in " + std::string(to_string(plan_.precision))) + "\n";
    out_ += predicted_phrase(plan_) + "\n";
    out_ += "work and transfers in sum: " + bound() + "\n";
    if (plan_.policy == Policy::fastest) {
      const ElapsedBounds bounds = find_elapsed_bounds(plan_.program, plan_.costed, placement, plan_.transfers);
      out_ += "however it overlaps, this placement takes at least " + format_seconds(bounds.critical_path_seconds) +
              " (critical path) and " + format_seconds(bounds.busiest_seconds) + " (busiest: " + std::string(to_string(bounds.busiest)) +
              ")\n";
    }
    out_ += "in sum, all on the host " + format_seconds(plan_.all_host_seconds) +
            ratio(plan_.all_host_seconds, placement.objective_seconds, wants_accelerator(graph_) ? ", pins to the accelerator aside" : "") +
            ", " + all_accelerator_phrase(plan_) + " " + format_seconds(plan_.all_accelerator_seconds) +
            ratio(plan_.all_accelerator_seconds, placement.objective_seconds) + "\n";
    if (const std::string remark = faster_remark(plan_); !remark.empty()) out_ += "remark: " + remark + "\n";
    out_ += cost_sources(plan_);
    for (const ProducedData& data : plan_.data) {
      const std::string place = place_phrase(graph_.nodes[data.loop].location);
      out_ += data_phrase(data) + (plan_.data.size() > 1 && !place.empty() ? " (" + place + ")" : "") + "\n";
    }
  }

  /// The distance of the plan's cost from the lower bound of all placements.
  std::string bound() const {
    const Placement& placement = plan_.placement;
    const std::string sum = format_seconds(placement.objective_seconds), least = format_seconds(placement.bound_seconds);
    if (plan_.policy == Policy::host || plan_.policy == Policy::accelerator) {
      const std::string beside = "`--placement " + std::string(to_string(plan_.policy)) + "`: " + sum;
      return beside +
             (placement.bound_seconds > 0
                  ? ", " + number(std::round(placement.objective_seconds / placement.bound_seconds * 100) / 100) + "x"
                  : ",") +
             " the bound of " + least +
             (plan_.policy == Policy::host && wants_accelerator(graph_) ? ", pins to the accelerator aside" : "");
    }
    const std::string gap = ", gap " + number(std::round(placement.gap * 1e4) / 100) + " %";
    return sum +
           (plan_.memory_shortage ? "; no placement, whether it fits into the memory or not, is below " : "; no placement is below ") +
           least + gap;
  }

  /// Whether tables show nodes of this kind: operations, inputs and parameters. Loops, branches, literals and carried values have no cost
  /// of their own.
  static bool shown(NodeKind kind) { return kind == NodeKind::operation || kind == NodeKind::input || kind == NodeKind::parameter; }

  void device(DeviceId device) {
    Table table;
    std::size_t count = 0;
    double total = 0;
    const std::vector<double> once =
        execution_seconds(plan_.costed.problem, plan_.placement.on_host, plan_.placement.on_accelerator, device);
    const std::vector<std::string> remarks = fused_remarks(device);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id(i);
      const Node& node = graph_.nodes[id];
      if (!plan_.placement.has_copy(i, device) || !shown(node.kind)) continue;
      const double seconds = plan_.costed.frequency[node.region] * once[i];
      total += seconds;
      ++count;
      table.add(seconds, {place_phrase(node.location), std::string(graph_.op_name(id)), graph_.display_name(id), type(node),
                          times_phrase(graph_, node.region, plan_.costed.frequency[node.region]), format_seconds(seconds),
                          remark(remark(why(id, device), pinned(node)), remarks[i])});
    }
    out_ += "\n" + to_string(device) + ": " + counted(count, "node") + ", " + format_seconds(total) + fused_phrase(device) + "\n";
    if (const MemoryFigures& memory = memory_[device.index]; memory.peak.bytes > 0) out_ += memory_phrase(graph_, memory) + "\n";
    if (device == kAccelerator && plan_.saved) out_ += saved_phrase(*plan_.saved) + "\n";
    out_ += table.text(most_rows_);
  }

  /// What became of the values for which the memory is too small, and the cost of that.
  std::string saved_phrase(const SavedMemory& saved) const {
    constexpr std::pair<SavedValue::How, const char*> kWays[] = {
        {SavedValue::How::kept, "kept"}, {SavedValue::How::host, "on the host"}, {SavedValue::How::again, "computed again"}};
    std::string text;
    for (const auto& [how, said] : kWays) {
      std::size_t count = 0;
      double bytes = 0;
      for (const SavedValue& value : saved.values) {
        if (value.how != how) continue;
        ++count;
        bytes += value.bytes;
      }
      if (count > 0) text += (text.empty() ? "" : ", ") + counted(count, "value") + " of " + format_bytes(bytes) + " " + said;
    }
    for (const SegmentedLoop& loop : saved.loops) {
      const std::string place = place_phrase(loop.location);
      text += (text.empty() ? "" : ", ") + ("trips computed again from every " + ordinal(static_cast<std::size_t>(loop.every)) + " state") +
              (place.empty() ? "" : " (" + place + ")") + ", with " + format_bytes(loop.bytes) + " in place of " +
              format_bytes(loop.stacked_bytes);
    }
    const std::string share = percent(saved.seconds, plan_.placement.objective_seconds - saved.seconds);
    return "saved for gradients, for lack of memory: " + text + "; this takes " + format_seconds(saved.seconds) + " without fusion (" +
           share + " more work), where all of it would make a peak of " + format_bytes(saved.peak_bytes) +
           (saved.bound_seconds
                ? "; in this placement no choice takes less than " + format_seconds(*saved.bound_seconds) + " without fusion"
                : "; that no choice takes less is not proved");
  }

  static std::string remark(const std::string& one, const std::string& other) {
    return one + (one.empty() || other.empty() ? "" : ", ") + other;
  }

  /// By node, the fused kernel that it belongs to.
  std::vector<std::string> fused_remarks(DeviceId device) const {
    std::vector<std::string> remarks(graph_.nodes.size());
    std::size_t number = 0;
    for (const FusedKernel& kernel : fused_) {
      if (kernel.device != device) continue;
      ++number;
      for (const NodeId node : kernel.nodes) remarks[node.index] = "kernel " + std::to_string(number);
    }
    return remarks;
  }

  /// The saving of fused kernels compared with the same operations without fusion.
  std::string fused_phrase(DeviceId device) const {
    std::size_t kernels = 0, nodes = 0;
    double saved = 0;
    for (const FusedKernel& kernel : fused_) {
      if (kernel.device != device) continue;
      ++kernels;
      nodes += kernel.nodes.size();
      saved += kernel.saved_seconds;
    }
    if (kernels == 0) return "";
    return "; " + std::to_string(nodes) + " of them run as " + counted(kernels, "kernel") + ", which saves " + format_seconds(saved);
  }

  std::string type(const Node& node) const { return node.results.empty() ? "" : to_string(graph_.values[node.results[0]].type); }

  std::string why(NodeId id, DeviceId device) const {
    const bool both = plan_.placement.has_copy(id.index, kHost) && plan_.placement.has_copy(id.index, kAccelerator);
    if (is_state(graph_.nodes[id])) return both ? "stays on both sides from run to run" : "stays here from run to run";
    if (device != kHost || both) return both ? "both sides" : "";
    const Cause forced = plan_.costed.forced[id.index];
    if (graph_.nodes[id].kind != NodeKind::operation) return "given on the host";
    return std::string(to_string(forced == Cause::none ? Cause::cheaper : forced));
  }

  /// The user's pin of what a gradient reads, and what became of it.
  static std::string pinned(const Node& node) {
    switch (node.recompute) {
      case Recompute::automatic: break;
      case Recompute::always: return "not kept for gradients, as pinned";
      case Recompute::never: return "kept for gradients, as pinned";
      case Recompute::repetition: return "computed again";
    }
    return "";
  }

  void transfers() {
    out_ += "\n" + counted(plan_.transfers.items.size(), "transfer") + " (" + counted(totals_.sends, "send") + "), " +
            format_bytes(totals_.bytes) + " and " + format_seconds(totals_.transfer_seconds) + " a run" + coalesced_transfers_phrase() +
            "\n";
    Table table;
    const std::vector<TransferFigures> figures = transfer_figures(plan_);
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const Transfer& t = plan_.transfers.items[i];
      const std::string& name = graph_.values[t.value].name;
      const std::string trip = t.round_trip < 0 ? "" : "round trip " + std::to_string(t.round_trip + 1);
      const std::string room = depth_phrase(plan_.program.channels[figures[i].channel]);
      const std::string said = remark(remark(remark(t.is_explicit ? "meant" : "", trip), coalesced_phrase(figures[i].coalesced)), room);
      table.add(t.seconds, {place_phrase(t.location), name.empty() ? graph_.display_name(graph_.values[t.value].producer) : name,
                            t.to == kHost ? "to host" : "to accelerator", std::string(to_string(t.kind)),
                            format_bytes(static_cast<double>(t.bytes)), times_phrase(graph_, t.region, t.frequency),
                            seconds_phrase(t, figures[i]), waited_phrase(figures[i].time), consumers_phrase(figures[i].consumers), said});
    }
    out_ += table.text(most_rows_);
    if (const std::string limited = limited_depths_phrase(plan_); !limited.empty()) out_ += "remark: " + limited + "\n";
  }

  /// The number of coalesced transfers and their saving; the sum of transfers is as if they were separate.
  std::string coalesced_transfers_phrase() const {
    if (totals_.coalesced_transfers == 0) return "";
    return "; " + std::to_string(totals_.packed) + " of them travel as " + counted(totals_.coalesced_transfers, "packet") +
           ", which saves " + format_seconds(totals_.saved_seconds);
  }

  void round_trips() {
    if (plan_.round_trips.empty()) return;
    out_ += "\n" + counted(plan_.round_trips.size(), "round trip") + " (" + std::to_string(totals_.round_trips) + " to be warned of)\n";
    Table table;
    for (std::size_t i = 0; i < plan_.round_trips.size(); ++i) {
      const RoundTrip& trip = plan_.round_trips[i];
      std::string state = trip.warned()            ? ""
                          : trip.meant             ? "meant"
                          : trip.hidden            ? "hidden"
                          : !trip.caused_by_user() ? "cheaper so"
                                                   : "allowed: " + trip.allowed;
      table.add(trip.seconds,
                {std::to_string(i + 1), place_phrase(graph_.nodes[trip.blamed].location), "through " + culprit_name(graph_, trip.blamed),
                 "via " + std::string(to_string(trip.via)), times_phrase(graph_, trip.region, trip.frequency),
                 format_bytes(static_cast<double>(trip.bytes)), format_seconds(trip.seconds), std::string(to_string(trip.cause)), state});
    }
    out_ += table.text(most_rows_);
    std::set<Via> ways;
    for (const RoundTrip& trip : plan_.round_trips) ways.insert(trip.via);
    for (const Via way : ways) out_ += "  via " + std::string(to_string(way)) + ": " + std::string(meaning_of(way)) + "\n";
  }

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<FusedKernel> fused_;
  const std::vector<MemoryFigures> memory_;
  const Totals totals_;
  const std::size_t most_rows_;
  std::string out_;
};

}  // namespace

std::string explain_text(const Plan& plan, std::size_t most_rows) {
  if (!plan.complete()) return "no plan: the model has errors\n";
  return Report(plan, most_rows).run();
}

}  // namespace cleave::planner
