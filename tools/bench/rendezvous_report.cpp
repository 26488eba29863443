#include "tools/bench/rendezvous_report.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace cleave::bench {

using nlohmann::ordered_json;
namespace {

constexpr int kOperations = 32, kPipelineTrips = 20, kLongRuns = 5;

/// A row of the report: times in microseconds, and numbers of calls, divided by `parts`.
ordered_json row(const char* name, const char* part, const RunCosts& costs, double parts) {
  const auto each = [&](double seconds) { return 1e6 * seconds / parts; };
  ordered_json calls = ordered_json::object();
  for (const auto& [call, count] : costs.calls) calls[call] = static_cast<double>(count) / parts;
  return {{"name", name},
          {"for_each", part},
          {"wall_us", each(costs.wall_seconds)},
          {"processor_us", each(costs.processor_seconds)},
          {"processor_of_host_us", each(costs.host_seconds)},
          {"processor_of_stub_us", each(costs.stub_seconds)},
          {"calls", calls}};
}

ordered_json overlap(const char* name, const RunCosts& costs) {
  double longest = 0;
  ordered_json lanes = ordered_json::object();
  for (const auto& [lane, seconds] : costs.lanes) {
    lanes[lane] = 1e3 * seconds;
    longest = std::max(longest, seconds);
  }
  return {{"name", name}, {"wall_ms", 1e3 * costs.wall_seconds}, {"lanes_ms", lanes}, {"of_ideal", longest / costs.wall_seconds}};
}

}  // namespace

ordered_json rendezvous_report(StubSetting setting, const std::string& only) {
  ordered_json document{{"trips", setting.trips},
                        {"runs", setting.runs},
                        {"launch_seconds", setting.traits.launch_seconds},
                        {"link_latency_seconds", setting.traits.link_latency_seconds},
                        {"link_bytes_per_second", setting.traits.link_bytes_per_second}};
  ordered_json& rows = document["rows"] = ordered_json::array();
  const auto wanted = [&](const char* name) { return std::string_view(name).find(only) != std::string_view::npos; };
  for (const bool words : {true, false}) {
    const char* name = words ? "loop by mailboxes" : "loop by copies and events";
    setting.traits.waits_for_words = words;
    if (wanted(name)) rows.push_back(row(name, "trip", run_trips(setting), setting.trips));
  }
  setting.traits.waits_for_words = true;
  for (const bool as_graph : {true, false}) {
    const char* name = as_graph ? "32 kernels as a graph" : "32 kernels by themselves";
    if (wanted(name)) rows.push_back(row(name, "run", run_segment(setting, kOperations, as_graph), 1));
  }
  ordered_json& overlaps = document["overlap"] = ordered_json::array();
  const int runs = std::min(setting.runs, kLongRuns);
  if (wanted("side by side")) overlaps.push_back(overlap("side by side", run_side_by_side(setting.lane_seconds, runs)));
  if (wanted("pipeline")) overlaps.push_back(overlap("pipeline", run_pipeline(setting.lane_seconds, kPipelineTrips, runs)));
  if (wanted("pipeline back")) overlaps.push_back(overlap("pipeline back", run_pipeline_back(setting.lane_seconds, kPipelineTrips, runs)));
  if (wanted("large values")) {
    const double host = run_large(0, true, setting.runs).wall_seconds;
    for (const bool in_parts : {true, false}) {
      RunCosts costs = run_large(host / 2, in_parts, setting.runs);
      costs.lanes["host"] = host;
      overlaps.push_back(overlap(in_parts ? "large values in parts" : "large values as wholes", costs));
    }
  }
  return document;
}

std::string rendezvous_table(const ordered_json& report) {
  std::string table;
  const auto add = [&table](const char* format, auto... values) {
    char text[256];
    std::snprintf(text, sizeof text, format, values...);
    table += text;
  };
  if (!report["rows"].empty()) add("%-34s %9s %9s %9s %9s  calls\n", "microseconds", "wall", "processor", "host's", "stub's");
  for (const ordered_json& row : report["rows"]) {
    const auto number = [&row](const char* field) { return row[field].get<double>(); };
    const std::string name = row["name"].get<std::string>() + ", a " + row["for_each"].get<std::string>();
    add("%-34s %9.2f %9.2f %9.2f %9.2f ", name.c_str(), number("wall_us"), number("processor_us"), number("processor_of_host_us"),
        number("processor_of_stub_us"));
    for (const auto& [call, count] : row["calls"].items())
      if (count.get<double>() >= 0.005) add(" %s %.2f", call.c_str(), count.get<double>());
    table += "\n";
  }
  for (const ordered_json& row : report["overlap"]) {
    add("%-34s %.2f ms; lanes", row["name"].get<std::string>().c_str(), row["wall_ms"].get<double>());
    for (const auto& [lane, milliseconds] : row["lanes_ms"].items()) add(" %s %.2f", lane.c_str(), milliseconds.get<double>());
    add(": %.2f of the ideal\n", row["of_ideal"].get<double>());
  }
  return table;
}

}  // namespace cleave::bench
