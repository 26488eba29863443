// Makes the figures and tables of a plan's page. Long tables keep only the costliest rows.
#include "partitioner/report/page/page_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "graph/base/units.h"
#include "partitioner/apply/predict.h"
#include "partitioner/report/cost_sources.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/memory_figures.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostRows = 1000;  ///< most rows of one table

PageCell text(std::string words, std::string kind = "") {
  return {std::move(words), std::numeric_limits<double>::quiet_NaN(), "", std::move(kind)};
}
PageCell seconds(double value) {
  return {format_seconds(value), value, "", ""};
}
PageCell bytes(double value) {
  return {format_bytes(value), value, "", ""};
}
PageCell none() {
  return {"–", -1, "", ""};
}
PageCell count(double value) {
  return {number(value), value, "", ""};
}

/// The `most` indices below `size` with the highest cost, in ascending order.
template <class Cost>
std::vector<std::size_t> costliest(std::size_t size, std::size_t most, Cost&& cost) {
  std::vector<std::size_t> indices(size);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  if (size <= most) return indices;
  std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  indices.resize(most);
  std::sort(indices.begin(), indices.end());
  return indices;
}

class PageDataBuilder {
 public:
  PageDataBuilder(const Plan& plan, const PageExtras& extras)
      : plan_(plan), graph_(*plan.graph), unobserved_(extras.unobserved ? &*extras.unobserved : nullptr) {}

  PageData run() {
    page_.title = graph_.name;
    page_.machine = machine_phrase(plan_.machine);
    choose_rows();
    page_.source = source_view(plan_, trips_);
    if (!plan_.complete()) {
      page_.headline = "no plan: the model has errors";
      return std::move(page_);
    }
    page_.headline = headline();
    figures_ = transfer_figures(plan_);
    facts();
    remarks();
    page_.timeline = schedule(plan_.costed, observed_transfers(), "timeline-");
    if (unobserved_) page_.unobserved = schedule(*unobserved_, plan_.transfers, "unobserved-");
    add(round_trips());
    add(transfers());
    add(operations());
    return std::move(page_);
  }

 private:
  void add(PageTable table) {
    if (!table.rows.empty()) page_.tables.push_back(std::move(table));
  }
  void fact(std::string name, double value, std::string remark) {
    if (std::isfinite(value)) page_.facts.push_back({std::move(name), format_seconds(value), std::move(remark)});
  }

  [[nodiscard]] std::string headline() const { return counts_phrase(plan_) + ", by " + machine_phrase(plan_.machine); }

  void facts() {
    fact("predicted", plan_.predicted_seconds, "a run, host and accelerator at once");
    fact("waiting", plan_.predicted_wait_seconds,
         percent(plan_.predicted_wait_seconds, plan_.predicted_seconds) +
             " of the run: the accelerator waits for a value or a decision of the host");
    if (plan_.policy != Policy::host) fact("all on the host", plan_.all_host_predicted_seconds, "predicted, a run");
    if (plan_.policy != Policy::accelerator)
      fact(all_accelerator_phrase(plan_), plan_.all_accelerator_predicted_seconds, "predicted, a run");
    for (const MemoryFigures& memory : memory_figures(plan_)) {
      if (!(memory.peak.bytes > 0)) continue;
      const std::string phrase = memory_phrase(graph_, memory);
      const std::size_t values = phrase.find(": ");
      page_.facts.push_back({std::string(memory.device == kHost ? "host" : "accelerator") + " memory", format_bytes(memory.peak.bytes),
                             "at the peak" + (values == std::string::npos ? "" : phrase.substr(values))});
    }
  }

  void remarks() {
    const Placement& placement = plan_.placement;
    const std::string sum = "work and transfers in sum: " + format_seconds(placement.objective_seconds) + " by placement `" +
                            std::string(to_string(plan_.policy)) + "`, the bound is " + format_seconds(placement.bound_seconds);
    for (const std::string& remark : {sum, faster_remark(plan_), cost_sources(plan_)})
      if (!remark.empty()) page_.remarks.push_back(remark);
  }

  /// The plan's transfers, with measured times of copies where its profile has them.
  [[nodiscard]] Transfers observed_transfers() const {
    Transfers transfers = plan_.transfers;
    for (std::size_t i = 0; i < transfers.items.size(); ++i)
      if (figures_[i].measured_seconds) transfers.items[i].seconds = *figures_[i].measured_seconds;
    return transfers;
  }

  [[nodiscard]] Timeline schedule(const CostedProblem& costed, const Transfers& transfers, const std::string& prefix) const {
    ScheduleRecorder recorder;
    (void)predict(plan_.program, transfers, costed, &recorder);
    return timeline(plan_, std::move(recorder).take(), page_.source, prefix);
  }

  void choose_rows() {
    const auto& trips = plan_.round_trips;
    const auto& items = plan_.transfers.items;
    trips_ = costliest(trips.size(), kMostRows, [&](std::size_t i) { return trips[i].seconds; });
    transfers_ = costliest(items.size(), kMostRows, [&](std::size_t i) { return items[i].seconds; });
  }

  [[nodiscard]] PageCell line(const SourceLocation& location) const {
    if (!location.known()) return text("");
    const std::size_t files = page_.source.files.size();
    const std::string file(location.file_name());
    const std::string name = (files > 1 ? file.substr(file.rfind('/') + 1) + ":" : "") + place_phrase(location);
    const auto found = page_.source.index.find(file);
    const double order = found == page_.source.index.end() ? 0 : static_cast<double>(found->second) * 1e9;
    return {name, order + location.line + std::min(location.column, 999) * 1e-3, page_.source.line_id(location), ""};
  }

  /// " Via data: ...", for each way that occurs.
  [[nodiscard]] std::string legend() const {
    std::set<Via> ways;
    std::string sentences;
    for (const RoundTrip& trip : plan_.round_trips) ways.insert(trip.via);
    for (const Via way : ways) sentences += " Via " + std::string(to_string(way)) + ": " + std::string(meaning_of(way)) + ".";
    return sentences;
  }

  PageTable round_trips() const {
    PageTable table{
        "round-trips",
        "Round trips",
        "A value leaves the accelerator, the host computes with it, and accelerator work waits for what comes of it." + legend(),
        {"#", "line", "through", "via", "#times a run", "#out", "#back", "#time", "because", "state"},
        {},
        plan_.round_trips.size() - trips_.size()};
    for (const std::size_t i : trips_) {
      const RoundTrip& trip = plan_.round_trips[i];
      const std::string state = trip.warned()            ? "warning"
                                : trip.meant             ? "meant"
                                : trip.hidden            ? "hidden"
                                : !trip.caused_by_user() ? "cheaper so"
                                                         : "allowed: " + trip.allowed;
      table.rows.push_back(
          {"round-trip-" + std::to_string(i + 1),
           {count(static_cast<double>(i + 1)), line(graph_.nodes[trip.blamed].location), text(culprit_name(graph_, trip.blamed)),
            text(std::string(to_string(trip.via))), count(trip.frequency), bytes(trip.out_bytes), bytes(trip.back_bytes),
            seconds(trip.seconds), text(std::string(to_string(trip.cause))), text(state, trip.warned() ? "warning" : "")}});
    }
    return table;
  }

  PageTable transfers() const {
    constexpr std::ptrdiff_t kMeasured = 8;  ///< index of the column, if there is a profile
    PageTable table{
        "transfers",
        "Transfers",
        "What moves between host and accelerator, from the line that makes it. Some are hidden behind work, for others a side waits.",
        {"line", "value", "direction", "kind", "#bytes", "#times a run", "#bytes a run", "#time", "#waited for", "readers", "remark"},
        {},
        plan_.transfers.items.size() - transfers_.size()};
    for (const std::size_t i : transfers_) {
      const Transfer& t = plan_.transfers.items[i];
      const std::string& name = graph_.values[t.value].name;
      const auto size = static_cast<double>(t.bytes);
      table.rows.push_back(
          {"transfer-" + std::to_string(i + 1),
           {line(t.location), text(name.empty() ? graph_.display_name(graph_.values[t.value].producer) : name),
            text(t.to == kHost ? "to host" : "to accelerator", t.to == kHost ? "out" : "back"), text(std::string(to_string(t.kind))),
            bytes(size), count(t.frequency), bytes(size * t.frequency), seconds(t.seconds), seconds(figures_[i].time.waited_seconds),
            text(consumers_phrase(figures_[i].consumers)), remark(i)}});
      const std::optional<double>& measured = figures_[i].measured_seconds;
      std::vector<PageCell>& cells = table.rows.back().cells;
      if (unobserved_) cells.insert(cells.begin() + kMeasured, measured ? seconds(*measured) : none());
    }
    if (unobserved_) table.columns.insert(table.columns.begin() + kMeasured, "#measured");
    return table;
  }

  [[nodiscard]] PageCell remark(std::size_t transfer) const {
    const Transfer& t = plan_.transfers.items[transfer];
    PageCell cell = text(t.is_explicit ? "meant" : "");
    const auto add = [&](const std::string& more) { cell.text += (cell.text.empty() || more.empty() ? "" : ", ") + more; };
    if (t.round_trip >= 0) add("round trip " + std::to_string(t.round_trip + 1));
    add(coalesced_phrase(figures_[transfer].coalesced));
    if (t.round_trip < 0) return cell;
    const auto trip = static_cast<std::size_t>(t.round_trip);
    if (std::binary_search(trips_.begin(), trips_.end(), trip)) cell.link = "round-trip-" + std::to_string(trip + 1);
    return cell;
  }

  /// Whether tables show nodes of this kind: operations, inputs and parameters. Loops, branches, literals and carried values have no cost
  /// of their own.
  static bool shown(NodeKind kind) { return kind == NodeKind::operation || kind == NodeKind::input || kind == NodeKind::parameter; }

  PageTable operations() const {
    std::vector<double> once[2], total(graph_.nodes.size(), 0);
    std::vector<NodeId> nodes;
    for (const DeviceId device : {kHost, kAccelerator})
      once[device.index] = execution_seconds(plan_.costed.problem, plan_.placement.on_host, plan_.placement.on_accelerator, device);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (!shown(node.kind)) continue;
      nodes.emplace_back(i);
      for (const DeviceId device : {kHost, kAccelerator})
        if (plan_.placement.has_copy(i, device)) total[i] += plan_.costed.frequency[node.region] * once[device.index][i];
    }
    PageTable table{"operations",
                    "Operations",
                    "Where each runs, what all its executions take there, and what they would take on the other side by themselves.",
                    {"line", "operation", "name", "type", "side", "#times a run", "#time", "#other side", "because"},
                    {},
                    0};
    if (unobserved_) {
      table.about += " Times on the host are those observed where the profile has them; before, what the machine file says.";
      table.columns.insert(table.columns.begin() + 7, "#before");
    }
    const auto chosen = costliest(nodes.size(), kMostRows, [&](std::size_t i) { return total[nodes[i].index]; });
    for (const std::size_t i : chosen) table.rows.push_back(operation(nodes[i], total[nodes[i].index]));
    table.left_out = nodes.size() - chosen.size();
    return table;
  }

  [[nodiscard]] PageRow operation(NodeId id, double total) const {
    const Node& node = graph_.nodes[id];
    const bool host = plan_.placement.has_copy(id.index, kHost), accelerator = plan_.placement.has_copy(id.index, kAccelerator);
    const std::string side = host && accelerator ? "both" : accelerator ? "accelerator" : "host";
    const Cause forced = plan_.costed.forced[id.index];
    std::string why;
    if (host && !accelerator && node.kind == NodeKind::operation) why = to_string(forced == Cause::none ? Cause::cheaper : forced);
    if (node.kind != NodeKind::operation) why = "given";
    const auto& costs = plan_.costed.problem.nodes[id.index];
    const double frequency = plan_.costed.frequency[node.region];
    const bool there = node.kind == NodeKind::operation && host != accelerator && (!host || forced == Cause::none);
    const double other = frequency * (accelerator ? costs.host_seconds : costs.accelerator_seconds);
    PageRow row{"",
                {line(node.location), text(std::string(graph_.op_name(id))), text(graph_.display_name(id)),
                 text(node.results.empty() ? "" : to_string(graph_.values[node.results[0]].type)), text(side, side), count(frequency),
                 seconds(total), there ? seconds(other) : none(), text(why)}};
    if (unobserved_) {
      const bool observed = host && plan_.costed.sources[id].host == CostSource::observed;
      row.cells.insert(row.cells.begin() + 7, observed ? seconds(frequency * unobserved_->problem.nodes[id.index].host_seconds) : none());
    }
    return row;
  }

  const Plan& plan_;
  const Graph& graph_;
  const CostedProblem* unobserved_;  ///< null: the plan has no observations
  PageData page_;
  std::vector<TransferFigures> figures_;        ///< one entry for each of the plan's transfers
  std::vector<std::size_t> trips_, transfers_;  ///< indices of those shown
};

}  // namespace

PageData page_data(const Plan& plan, const PageExtras& extras) {
  return PageDataBuilder(plan, extras).run();
}

}  // namespace cleave::planner
