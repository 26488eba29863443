// `explain --json`: the fields that docs fix, in their order. Numbers that are no numbers become null, never NaN.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/base/version.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

using Json = nlohmann::ordered_json;

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// A count that is whole stays an integer.
Json count(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return Json(static_cast<std::int64_t>(value));
  return finite(value);
}

Json location_json(const SourceLocation& location) {
  if (!location.file) return nullptr;
  return {{"file", std::string(location.file_name())}, {"line", location.line}, {"column", location.column}};
}

Json id_or_null(std::uint32_t index, bool valid) {
  return valid ? Json(index) : Json(nullptr);
}

Json diagnostic_list(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json notes = Json::array();
    for (const Note& note : d.notes) notes.push_back({{"message", note.message}, {"location", location_json(note.location)}});
    list.push_back({{"kind", std::string(info(d.kind).name)},
                    {"severity", std::string(to_string(d.severity))},
                    {"message", d.message},
                    {"location", location_json(d.location)},
                    {"notes", std::move(notes)}});
  }
  return list;
}

Json placement_json(const Plan& plan) {
  return {
      {"objective_seconds", finite(plan.placement.objective_seconds)},
      {"bound_seconds", finite(plan.placement.bound_seconds)},
      {"gap", finite(plan.placement.gap)},
      {"capacity_bytes",
       plan.costed.problem.accelerator_memory_bytes > 0 ? count(std::floor(plan.costed.problem.accelerator_memory_bytes)) : Json(nullptr)},
      {"predicted_seconds", finite(plan.predicted_seconds)},
      {"all_host_seconds", finite(plan.all_host_seconds)},
      {"all_accelerator_seconds", finite(plan.all_accelerator_seconds)}};
}

Json regions_json(const Plan& plan) {
  const Graph& graph = *plan.graph;
  Json list = Json::array();
  for (std::size_t i = 0; i < graph.regions.size(); ++i) {
    const RegionId id(i);
    const Region& region = graph.regions[id];
    list.push_back({{"id", i},
                    {"parent", id_or_null(region.parent.index, region.parent.valid())},
                    {"kind", std::string(to_string(region.kind))},
                    {"frequency", count(plan.costed.frequency[id])},
                    {"assumed", any_assumed(graph, id)},
                    {"location", region.owner ? location_json(graph.nodes[region.owner].location) : Json(nullptr)}});
  }
  return list;
}

Json node_json(const Plan& plan, NodeId id) {
  const Graph& graph = *plan.graph;
  const Node& node = graph.nodes[id];
  const PlacementProblem::Node& cost = plan.costed.problem.nodes[id.index];
  Json on = Json::array();
  for (const DeviceProgram& device : plan.program.devices)
    if (plan.placement.has_copy(id.index, device.device)) on.push_back(to_string(device.device));
  Json cause = nullptr;
  if (plan.placement.has_copy(id.index, kHost)) {
    const Cause forced = plan.costed.forced[id.index];
    cause = std::string(to_string(forced == Cause::none ? Cause::cheaper : forced));
  }
  return {{"id", id.index},
          {"name", graph.display_name(id)},
          {"op", std::string(graph.op_name(id))},
          {"on", std::move(on)},
          {"region", node.region.index},
          {"frequency", count(plan.costed.frequency[node.region])},
          {"host_seconds", finite(cost.host_seconds)},
          {"accelerator_seconds", finite(cost.accelerator_seconds)},
          {"cause", std::move(cause)},
          {"location", location_json(node.location)}};
}

Json transfer_json(const Plan& plan, std::size_t i) {
  const Transfer& t = plan.transfers.items[i];
  const std::string& name = plan.graph->values[t.value].name;
  return {{"id", i},
          {"value", t.value.index},
          {"name", name.empty() ? plan.graph->display_name(plan.graph->values[t.value].producer) : name},
          {"direction", t.to == kHost ? "accelerator_to_host" : "host_to_accelerator"},
          {"from", to_string(t.from)},
          {"to", to_string(t.to)},
          {"kind", std::string(to_string(t.kind))},
          {"bytes", t.bytes},
          {"frequency", count(t.frequency)},
          {"seconds", finite(t.seconds)},
          {"region", t.region.index},
          {"explicit", t.is_explicit},
          {"round_trip", t.round_trip < 0 ? Json(nullptr) : Json(t.round_trip)},
          {"location", location_json(t.location)}};
}

Json round_trip_json(const Plan& plan, std::size_t i) {
  const RoundTrip& trip = plan.round_trips[i];
  Json through = Json::array();
  for (NodeId node : trip.through) through.push_back(node.index);
  return {{"id", i},
          {"through", std::move(through)},
          {"out", trip.out},
          {"back", trip.back},
          {"via", trip.via_control ? "control" : "data"},
          {"frequency", count(trip.frequency)},
          {"bytes", trip.bytes},
          {"seconds", finite(trip.seconds)},
          {"location", location_json(plan.graph->nodes[trip.blamed].location)},
          {"cause", std::string(to_string(trip.cause))},
          {"meant", trip.meant},
          {"allowed", trip.allowed.empty() ? Json(nullptr) : Json(trip.allowed)},
          {"warned", trip.warned()}};
}

Json totals_json(const Plan& plan) {
  double bytes = 0, seconds = 0;
  std::size_t sends = 0, round_trips = 0;
  for (const Transfer& t : plan.transfers.items) {
    bytes += static_cast<double>(t.bytes) * t.frequency;
    seconds += t.seconds;
    sends += t.kind == TransferKind::send ? 1 : 0;
  }
  for (const RoundTrip& trip : plan.round_trips) round_trips += trip.warned() ? 1 : 0;
  return {{"transfers", plan.transfers.items.size()},
          {"sends", sends},
          {"bytes_per_run", count(bytes)},
          {"transfer_seconds", finite(seconds)},
          {"round_trips", round_trips}};
}

/// Names may hold any bytes; what is no UTF-8 is replaced.
std::string text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class F>
Json list(std::size_t size, F&& item) {
  Json list = Json::array();
  for (std::size_t i = 0; i < size; ++i) list.push_back(item(i));
  return list;
}

}  // namespace

std::string diagnostics_json(const Diagnostics& diagnostics) {
  return text({{"cleave", kVersion}, {"diagnostics", diagnostic_list(diagnostics)}});
}

std::string explain_json(const Plan& plan) {
  if (!plan.complete()) return diagnostics_json(plan.diagnostics);
  Json document;
  document["cleave"] = kVersion;
  document["model"] = plan.graph->name;
  document["machine"] = {{"name", plan.machine.name}, {"provenance", plan.machine.provenance}};
  document["placement"] = placement_json(plan);
  document["regions"] = regions_json(plan);
  document["nodes"] = list(plan.graph->nodes.size(), [&](std::size_t i) { return node_json(plan, NodeId(i)); });
  document["transfers"] = list(plan.transfers.items.size(), [&](std::size_t i) { return transfer_json(plan, i); });
  document["round_trips"] = list(plan.round_trips.size(), [&](std::size_t i) { return round_trip_json(plan, i); });
  document["diagnostics"] = diagnostic_list(plan.diagnostics);
  document["totals"] = totals_json(plan);
  return text(document);
}

}  // namespace cleave::planner
