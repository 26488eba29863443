// `cleave explain` for people: what runs where and why, what moves at what price, in one screen for a small model.
#include <algorithm>
#include <cmath>

#include "graph/base/units.h"
#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/apply/fused_kernels.h"
#include "partitioner/report/cost_sources.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostRows = 60;  ///< of one table; the rest is counted

/// Columns aligned by their widest cell.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths;
    const std::size_t shown = std::min(rows_.size(), kMostRows);
    for (std::size_t r = 0; r < shown; ++r) {
      widths.resize(std::max(widths.size(), rows_[r].size()), 0);
      for (std::size_t c = 0; c < rows_[r].size(); ++c) widths[c] = std::max(widths[c], rows_[r][c].size());
    }
    std::string text;
    for (std::size_t r = 0; r < shown; ++r) {
      std::string line = " ";
      for (std::size_t c = 0; c < rows_[r].size(); ++c) line += " " + rows_[r][c] + std::string(widths[c] - rows_[r][c].size() + 1, ' ');
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    if (rows_.size() > shown) text += "  … and " + std::to_string(rows_.size() - shown) + " more\n";
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string place(const SourceLocation& location) {
  return location.line > 0 ? std::to_string(location.line) + ":" + std::to_string(location.column) : "";
}

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string ratio(double seconds, double to, const std::string& remark = "") {
  return to > 0 ? " (" + number(std::round(seconds / to * 100) / 100) + "x" + remark + ")" : "";
}

struct Totals {
  std::size_t operations = 0, on_accelerator = 0, sends = 0, warned = 0;
  double bytes = 0, seconds = 0;

  explicit Totals(const Plan& plan) {
    for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
      if (plan.graph->nodes[NodeId(i)].kind != NodeKind::operation) continue;
      ++operations;
      on_accelerator += plan.placement.has_copy(i, kAccelerator) ? 1 : 0;
    }
    for (const Transfer& t : plan.transfers.items) {
      sends += t.kind == TransferKind::send ? 1 : 0;
      bytes += static_cast<double>(t.bytes) * t.frequency;
      seconds += t.seconds;
    }
    for (const RoundTrip& trip : plan.round_trips) warned += trip.warned() ? 1 : 0;
  }
};

class Report {
 public:
  explicit Report(const Plan& plan) : plan_(plan), graph_(*plan.graph), fused_(fused_kernels(plan.costed, plan.placement)), totals_(plan) {}

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
    out_ += "model `" + graph_.name + "`, " + machine_phrase(plan_.machine) + ", placement " + std::string(to_string(plan_.policy)) +
            (plan_.precision == Precision::f32 ? "" : ", matrix products in " + std::string(to_string(plan_.precision))) + "\n";
    out_ += "predicted " + format_seconds(plan_.predicted_seconds) + " a run; work and transfers add up to " +
            format_seconds(placement.objective_seconds) + " (" + bound() + ")\n";
    if (plan_.policy == Policy::makespan) {
      const ElapsedBounds bounds = find_elapsed_bounds(graph_, plan_.costed, placement, plan_.transfers);
      out_ += "however it overlaps, this placement takes at least " + format_seconds(bounds.critical_path_seconds) +
              " (critical path) and " + format_seconds(bounds.busiest_seconds) + " (busiest: " + std::string(to_string(bounds.busiest)) +
              ")\n";
    }
    const bool pins = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& n) { return n.pin == Side::accelerator; });
    out_ += "all on the host " + format_seconds(plan_.all_host_seconds) +
            ratio(plan_.all_host_seconds, placement.objective_seconds, pins ? ", pins to the accelerator aside" : "") +
            ", all on the accelerator " + format_seconds(plan_.all_accelerator_seconds) +
            ratio(plan_.all_accelerator_seconds, placement.objective_seconds) + "\n";
    if (const std::string remark = faster_remark(plan_); !remark.empty()) out_ += "remark: " + remark + "\n";
    out_ += cost_sources(plan_);
  }

  std::string bound() const {
    const Placement& placement = plan_.placement;
    const double capacity = plan_.costed.problem.accelerator_memory_bytes;
    const std::string gap = ", gap " + number(std::round(placement.gap * 1e4) / 100) + " %";
    if (capacity <= 0) return "no placement is below " + format_seconds(placement.bound_seconds) + gap;
    return "no placement with at most " + format_bytes(capacity) + " of values on the accelerator, so that they fit, is below " +
           format_seconds(placement.bound_seconds) + gap + "; if all fitted, none would be below " +
           format_seconds(plan_.unlimited_bound_seconds);
  }

  /// Operations and what the user gave; loops, branches, literals and carried values have no cost of their own.
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
      table.add({place(node.location), std::string(graph_.op_name(id)), graph_.display_name(id), type(node),
                 times_phrase(graph_, node.region, plan_.costed.frequency[node.region]), format_seconds(seconds),
                 remark(why(id, device), remarks[i])});
    }
    out_ +=
        "\n" + to_string(device) + ": " + plural(count, "node") + ", " + format_seconds(total) + fused_phrase(device) + "\n" + table.text();
  }

  static std::string remark(const std::string& one, const std::string& other) {
    return one + (one.empty() || other.empty() ? "" : ", ") + other;
  }

  /// By node: in which kernel of several operations.
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

  /// What the costs are less than those of all operations by themselves.
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
    return "; " + std::to_string(nodes) + " of them run as " + plural(kernels, "kernel") + ", which saves " + format_seconds(saved);
  }

  std::string type(const Node& node) const { return node.results.empty() ? "" : to_string(graph_.values[node.results[0]].type); }

  std::string why(NodeId id, DeviceId device) const {
    const bool both = plan_.placement.has_copy(id.index, kHost) && plan_.placement.has_copy(id.index, kAccelerator);
    if (device != kHost || both) return both ? "both sides" : "";
    const Cause forced = plan_.costed.forced[id.index];
    if (graph_.nodes[id].kind != NodeKind::operation) return "given on the host";
    return std::string(to_string(forced == Cause::none ? Cause::cheaper : forced));
  }

  void transfers() {
    out_ += "\n" + plural(plan_.transfers.items.size(), "transfer") + " (" + plural(totals_.sends, "send") + "), " +
            format_bytes(totals_.bytes) + " and " + format_seconds(totals_.seconds) + " a run\n";
    Table table;
    for (const Transfer& t : plan_.transfers.items) {
      const std::string& name = graph_.values[t.value].name;
      std::string remark = t.is_explicit ? "meant" : "";
      if (t.round_trip >= 0) remark += (remark.empty() ? "round trip " : ", round trip ") + std::to_string(t.round_trip + 1);
      table.add({place(t.location), name.empty() ? graph_.display_name(graph_.values[t.value].producer) : name,
                 t.to == kHost ? "to host" : "to accelerator", std::string(to_string(t.kind)), format_bytes(static_cast<double>(t.bytes)),
                 times_phrase(graph_, t.region, t.frequency), format_seconds(t.seconds), remark});
    }
    out_ += table.text();
  }

  void round_trips() {
    if (plan_.round_trips.empty()) return;
    out_ += "\n" + plural(plan_.round_trips.size(), "round trip") + " (" + std::to_string(totals_.warned) + " to be warned of)\n";
    Table table;
    for (std::size_t i = 0; i < plan_.round_trips.size(); ++i) {
      const RoundTrip& trip = plan_.round_trips[i];
      std::string state = trip.warned() ? "" : trip.meant ? "meant" : !trip.caused_by_user() ? "cheaper so" : "allowed: " + trip.allowed;
      table.add({std::to_string(i + 1), place(graph_.nodes[trip.blamed].location), "through " + culprit_name(graph_, trip.blamed),
                 "via " + std::string(to_string(trip.via)), times_phrase(graph_, graph_.nodes[trip.blamed].region, trip.frequency),
                 format_bytes(static_cast<double>(trip.bytes)), format_seconds(trip.seconds), std::string(to_string(trip.cause)), state});
    }
    out_ += table.text();
  }

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<FusedKernel> fused_;
  const Totals totals_;
  std::string out_;
};

}  // namespace

std::string explain_text(const Plan& plan) {
  if (!plan.complete()) return "no plan: the model has errors\n";
  return Report(plan).run();
}

std::string faster_remark(const Plan& plan) {
  constexpr double kWorthSaying = 0.99;
  const double host = plan.all_host_predicted_seconds, accelerator = plan.all_accelerator_predicted_seconds;
  const bool on_host = !(accelerator < host);  // either may be unknown
  const double least = on_host ? host : accelerator;
  if (!(least < kWorthSaying * plan.predicted_seconds)) return "";
  return "everything on the " + std::string(on_host ? "host" : "accelerator") + " is predicted to be over sooner, in " +
         format_seconds(least) + " instead of " + format_seconds(plan.predicted_seconds) +
         ": this placement has the least work and transfers in sum, but less of it at once; `--placement " +
         (on_host ? "host" : "accelerator") + "` takes that one, `--placement makespan` looks for one that is sooner still";
}

std::string summary_line(const Plan& plan) {
  if (!plan.complete()) return "no plan: the model has errors";
  const Totals totals(plan);
  return std::to_string(totals.on_accelerator) + " of " + plural(totals.operations, "operation") + " on the accelerator, " +
         plural(plan.transfers.items.size(), "transfer") + " (" + plural(totals.sends, "send") + ", " + format_bytes(totals.bytes) +
         " a run), " + plural(totals.warned, "round trip") + ", predicted " + format_seconds(plan.predicted_seconds) +
         " a run (all on the host " + format_seconds(plan.all_host_seconds) + ", all on the accelerator " +
         format_seconds(plan.all_accelerator_seconds) + "; " + machine_phrase(plan.machine) + ")";
}

std::string waiting_line(const Plan& plan) {
  const auto warned = std::count_if(plan.round_trips.begin(), plan.round_trips.end(), [](const RoundTrip& trip) { return trip.warned(); });
  if (warned == 0) return "";
  return plural(static_cast<std::size_t>(warned), "round trip") + ": the accelerator waits for the host for about " +
         format_seconds(plan.predicted_wait_seconds) + " of a run of " + format_seconds(plan.predicted_seconds) + " (" +
         percent(plan.predicted_wait_seconds, plan.predicted_seconds) + ", predicted)";
}

}  // namespace cleave::planner
