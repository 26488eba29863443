// `explain --json`: writes the fields that the documentation fixes, in their order. Numbers without a value become null, never NaN.
#include <algorithm>
#include <cmath>

#include "graph/base/diagnostic_json.h"
#include "graph/base/json_writer.h"
#include "graph/base/version.h"
#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/fused_kernels.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/depth_text.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/memory_figures.h"
#include "partitioner/report/placed_things.h"
#include "partitioner/report/totals.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

/// Writes the document; each part is a member function.
class Document {
 public:
  Document(const Plan& plan, JsonWriter& json)
      : plan_(plan),
        graph_(*plan.graph),
        fused_(fused_kernels(plan.program, plan.costed, plan.placement)),
        figures_(transfer_figures(plan)),
        memory_(memory_figures(plan)),
        things_(placed_things(plan)),
        json_(json) {}

  void write(const std::function<void(JsonWriter&)>& more) {
    json_.object([&] {
      json_.field("cleave", kVersion);
      json_.field("model", graph_.name);
      json_.object("machine", [&] {
        json_.field("name", plan_.machine.name);
        json_.field("provenance", plan_.machine.provenance);
      });
      placement();
      records("regions", graph_.regions.size(), [&](std::size_t i) { region(i); });
      records("nodes", graph_.nodes.size(), [&](std::size_t i) { node(NodeId(i)); });
      records("fused", fused_.size(), [&](std::size_t i) { fused(fused_[i]); });
      records("transfers", plan_.transfers.items.size(), [&](std::size_t i) { transfer(i); });
      records("packets", plan_.program.coalesced_transfers.size(), [&](std::size_t i) { coalesced(CoalescedId(i)); });
      records("memory", memory_.size(), [&](std::size_t i) { memory(memory_[i]); });
      records("saved", plan_.saved ? plan_.saved->values.size() : 0, [&](std::size_t i) { saved(plan_.saved->values[i]); });
      records("segments", plan_.saved ? plan_.saved->loops.size() : 0, [&](std::size_t i) { segments(plan_.saved->loops[i]); });
      records("data", plan_.data.size(), [&](std::size_t i) { data(plan_.data[i]); });
      records("round_trips", plan_.round_trips.size(), [&](std::size_t i) { round_trip(i); });
      json_.key("diagnostics");
      write_json(
          json_, plan_.diagnostics, [&](const SourceLocation& place) { return things_.statements->of(place); }, plan_.fixes);
      sums();
      json_.key("account");
      write_account(json_, plan_);
      if (more) more(json_);
    });
  }

 private:
  template <class F>
  void records(const char* name, std::size_t size, F&& fields) {
    json_.list(name, [&] {
      for (std::size_t i = 0; i < size; ++i) json_.object([&] { fields(i); });
    });
  }

  /// Writes a whole number as an integer.
  void count(const char* name, double value) {
    if (value == std::floor(value) && std::abs(value) < 9e15)
      json_.field(name, static_cast<std::int64_t>(value));
    else
      json_.field(name, value);
  }

  void location(const SourceLocation& location) { locations_.field(location); }

  /// Writes the region of the innermost loop around `region`, or null.
  void loop(RegionId region) {
    while (region && !repeats(graph_.regions[region].kind)) region = graph_.regions[region].parent;
    json_.field("loop", region ? std::optional(region.index) : std::nullopt);
  }
  static bool repeats(RegionKind kind) {
    return kind == RegionKind::for_body || kind == RegionKind::while_condition || kind == RegionKind::while_body;
  }

  void placement() {
    json_.object("placement", [&] {
      json_.field("objective_seconds", plan_.placement.objective_seconds);
      json_.field("bound_seconds", plan_.placement.bound_seconds);
      json_.field("gap", plan_.placement.gap);
      const double capacity = plan_.costed.problem.accelerator_memory_bytes;
      if (capacity > 0)
        count("capacity_bytes", std::floor(capacity));
      else
        json_.field("capacity_bytes", nullptr);
      json_.field("predicted_seconds", plan_.predicted_seconds);
      json_.field("all_host_seconds", plan_.all_host_seconds);
      json_.field("all_accelerator_seconds", plan_.all_accelerator_seconds);
      json_.field("all_host_predicted_seconds", plan_.all_host_predicted_seconds);
      json_.field("all_accelerator_predicted_seconds", plan_.all_accelerator_predicted_seconds);
    });
  }

  void region(std::size_t i) {
    const RegionId id(i);
    const Region& region = graph_.regions[id];
    json_.field("id", i);
    json_.field("parent", region.parent.valid() ? std::optional(region.parent.index) : std::nullopt);
    json_.field("kind", to_string(region.kind));
    count("frequency", plan_.costed.frequency[id]);
    json_.field("assumed", any_assumed(graph_, id));
    location(region.owner ? graph_.nodes[region.owner].location : SourceLocation());
  }

  static std::optional<std::string_view> source(CostSource source) {
    return source == CostSource::none ? std::nullopt : std::optional(to_string(source));
  }

  void node(NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool on_host = plan_.placement.on_host[id.index];
    json_.field("id", id.index);
    json_.field("name", graph_.display_name(id));
    json_.field("op", graph_.op_name(id));
    json_.field("statement", things_.paths[id]);
    json_.list("on", [&] {
      if (on_host) json_.value(to_string(kHost));
      if (plan_.placement.on_accelerator[id.index]) json_.value(to_string(kAccelerator));
    });
    json_.list("types", [&] {
      for (const ValueId result : node.results) json_.value(to_string(graph_.values[result].type));
    });
    json_.field("region", node.region.index);
    loop(node.region);
    count("frequency", plan_.costed.frequency[node.region]);
    json_.field("host_seconds", plan_.costed.problem.nodes[id.index].host_seconds);
    json_.field("accelerator_seconds", plan_.costed.problem.nodes[id.index].accelerator_seconds);
    const CostSources& sources = plan_.costed.sources[id];
    json_.field("host_cost", source(sources.host));
    json_.field("accelerator_cost", source(sources.accelerator));
    const Cause forced = plan_.costed.forced[id.index];
    if (const auto* output = node.attributes.get_if<std::string>("state")) json_.field("state", *output);
    json_.field("cause", on_host ? std::optional(to_string(forced == Cause::none ? Cause::cheaper : forced)) : std::nullopt);
    location(node.location);
  }

  void fused(const FusedKernel& kernel) {
    json_.field("on", to_string(kernel.device));
    json_.list("nodes", [&] {
      for (const NodeId node : kernel.nodes) json_.value(node.index);
    });
    json_.field("saved_seconds", kernel.saved_seconds);
  }

  void transfer(std::size_t i) {
    const Transfer& t = plan_.transfers.items[i];
    const std::string& name = graph_.values[t.value].name;
    json_.field("id", i);
    json_.field("value", t.value.index);
    json_.field("node", graph_.values[t.value].producer.index);
    json_.field("name", name.empty() ? graph_.display_name(graph_.values[t.value].producer) : name);
    json_.field("type", to_string(graph_.values[t.value].type));
    json_.field("statement", things_.moves[i].path);
    json_.field("within", things_.moves[i].within);
    json_.field("direction", t.to == kHost ? "accelerator_to_host" : "host_to_accelerator");
    json_.field("from", to_string(t.from));
    json_.field("to", to_string(t.to));
    json_.field("kind", to_string(t.kind));
    json_.field("bytes", t.bytes);
    count("frequency", t.frequency);
    json_.field("seconds", t.seconds);
    json_.field("waited_seconds", figures_[i].time.waited_seconds);
    json_.field("hidden_seconds", figures_[i].time.hidden_seconds);
    json_.field("measured_seconds", figures_[i].measured_seconds);
    json_.field("region", t.region.index);
    loop(t.region);
    json_.field("explicit", t.is_explicit);
    json_.field("round_trip", t.round_trip < 0 ? std::nullopt : std::optional(t.round_trip));
    const CoalescedId coalesced = figures_[i].coalesced;
    json_.field("packet", coalesced ? std::optional(coalesced.index) : std::nullopt);
    json_.field("depth", plan_.program.channels[figures_[i].channel].depth);
    const LimitedDepth* limited = limited_depth(plan_, figures_[i].channel);
    json_.field("depth_wanted", limited ? std::optional(limited->wanted) : std::nullopt);
    records("consumers", figures_[i].consumers.size(), [&](std::size_t k) { consumer(figures_[i].consumers[k]); });
    location(t.location);
  }

  void coalesced(CoalescedId id) {
    double bytes = 0, seconds = 0;
    json_.field("id", id.index);
    const std::vector<ChannelId>& channels = plan_.program.coalesced_transfers[id].channels;
    const Channel& first = plan_.program.channels[channels[0]];
    json_.list("transfers", [&] {
      for (const ChannelId channel : channels) {
        const std::size_t transfer = plan_.program.channels[channel].transfer;
        json_.value(transfer);
        bytes += static_cast<double>(plan_.transfers.items[transfer].bytes);
        seconds += figures_[transfer].time.seconds;
      }
    });
    count("bytes", bytes);
    count("frequency", plan_.costed.frequency[first.region]);
    json_.field("seconds", seconds);
    json_.field("saved_seconds", plan_.costed.frequency[first.region] * saved_seconds(plan_.program, plan_.costed, id));
    json_.field("region", first.region.index);
  }

  void consumer(const Consumer& consumer) {
    json_.field("node", consumer.node ? std::optional(consumer.node.index) : std::nullopt);
    json_.field("name", consumer.name);
    json_.field("as", to_string(consumer.kind));
    location(consumer.location);
  }

  void memory(const MemoryFigures& memory) {
    json_.field("on", to_string(memory.device));
    count("peak_bytes", memory.peak.bytes);
    if (memory.memory_bytes > 0)
      count("memory_bytes", memory.memory_bytes);
    else
      json_.field("memory_bytes", nullptr);
    records("values", memory.peak.largest.size(), [&](std::size_t i) {
      const ValueId id = memory.peak.largest[i];
      const Value& value = graph_.values[id];
      json_.field("value", id.index);
      json_.field("node", value.producer.index);
      json_.field("name", value.name.empty() ? graph_.display_name(value.producer) : value.name);
      json_.field("type", to_string(value.type));
      json_.field("bytes", value.type.bytes());
      location(graph_.nodes[value.producer].location);
    });
  }

  void saved(const SavedValue& value) {
    json_.field("name", value.name);
    constexpr const char* kHow[] = {"kept", "host", "recomputed"};
    json_.field("how", kHow[static_cast<std::size_t>(value.how)]);
    count("bytes", value.bytes);
    json_.field("seconds", value.seconds);
    location(value.location);
  }

  void segments(const SegmentedLoop& loop) {
    json_.field("name", loop.name);
    json_.field("trips", loop.trips);
    json_.field("every", loop.every);
    count("stacked_bytes", loop.stacked_bytes);
    count("bytes", loop.bytes);
    json_.field("seconds", loop.seconds);
    location(loop.location);
  }

  void round_trip(std::size_t i) {
    const RoundTrip& trip = plan_.round_trips[i];
    json_.field("id", i);
    json_.list("through", [&] {
      for (const NodeId node : trip.through) json_.value(node.index);
    });
    json_.field("out", trip.out);
    json_.field("back", trip.back);
    json_.field("via", to_string(trip.via));
    count("frequency", trip.frequency);
    json_.field("bytes", trip.bytes);
    json_.field("seconds", trip.seconds);
    json_.field("region", graph_.nodes[trip.blamed].region.index);
    loop(graph_.nodes[trip.blamed].region);
    json_.field("blamed", trip.blamed.index);
    json_.list("decides", [&] {
      for (const NodeId control : trip.controls) json_.value(control.index);
    });
    json_.list("started_by", [&] {
      for (const NodeId control : trip.starts) json_.value(control.index);
    });
    location(graph_.nodes[trip.blamed].location);
    json_.field("cause", to_string(trip.cause));
    json_.field("meant", trip.meant);
    json_.field("allowed", trip.allowed.empty() ? std::nullopt : std::optional(trip.allowed));
    json_.field("hidden", trip.hidden);
    json_.field("warned", trip.warned());
  }

  void data(const ProducedData& data) {
    json_.field("region", graph_.nodes[data.loop].regions[0].index);
    json_.field("workers", data.workers);
    json_.field("seconds", data.seconds);
    json_.field("step_seconds", data.step_seconds);
    json_.field("longest", data.longest.index);
    json_.field("longest_seconds", data.longest_seconds);
    json_.field("hidden_by", data.hidden_by);
    location(graph_.nodes[data.loop].location);
  }

  void sums() {
    const Totals sum = totals(plan_);
    json_.object("totals", [&] {
      json_.field("transfers", sum.transfers);
      json_.field("sends", sum.sends);
      count("bytes_per_run", sum.bytes);
      json_.field("transfer_seconds", sum.transfer_seconds);
      json_.field("packets", sum.coalesced_transfers);
      json_.field("saved_seconds", sum.saved_seconds);
      json_.field("round_trips", sum.round_trips);
    });
  }

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<FusedKernel> fused_;
  const std::vector<TransferFigures> figures_;
  const std::vector<MemoryFigures> memory_;
  const PlacedThings things_;
  JsonWriter& json_;
  JsonLocations locations_{json_};
};

}  // namespace

std::string explain_json(const Plan& plan, const std::function<void(JsonWriter&)>& more) {
  if (!plan.complete()) return diagnostics_json(plan.diagnostics);
  std::string text;
  JsonWriter json(text, 2);
  Document(plan, json).write(more);
  return text + "\n";
}

}  // namespace cleave::planner
