#include "executor/report/timeline.h"

#include <nlohmann/json.hpp>

#include "graph/base/device_name.h"
#include "graph/base/file.h"
#include "graph/graph.h"

namespace cleave {
namespace {

std::string_view to_string(TimelineEvent::What what) {
  switch (what) {
    case TimelineEvent::What::compute: return "compute";
    case TimelineEvent::What::transfer: return "transfer";
    case TimelineEvent::What::wait: return "wait";
  }
  return "";
}

/// Steps, transfers and waits of one device have a track each: events of one track never overlap.
int track(TimelineEvent::What what) {
  if (what == TimelineEvent::What::transfer) return 1;
  return what == TimelineEvent::What::wait ? 2 : 0;
}

nlohmann::ordered_json name_of(const char* kind, std::uint32_t process, int thread, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

std::string to_chrome_trace(const Timeline& timeline, const Graph& graph) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::uint32_t devices = 0;
  for (const TimelineEvent& event : timeline.events) devices = std::max(devices, event.device.index + 1);
  for (std::uint32_t device = 0; device < devices; ++device) {
    events.push_back(name_of("process_name", device, 0, to_string(DeviceId(std::size_t{device}))));
    for (int thread = 0; thread < 3; ++thread) {
      const char* names[] = {"steps", "transfers", "waits"};
      events.push_back(name_of("thread_name", device, thread, names[thread]));
    }
  }
  for (const TimelineEvent& event : timeline.events) {
    nlohmann::ordered_json item = {{"name", event.node.valid() ? graph.display_name(event.node) : "run"},
                                   {"cat", to_string(event.what)},
                                   {"ph", "X"},
                                   {"ts", event.start_seconds * 1e6},
                                   {"dur", (event.end_seconds - event.start_seconds) * 1e6},
                                   {"pid", event.device.index},
                                   {"tid", track(event.what)}};
    nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
    if (event.node.valid()) {
      arguments["op"] = graph.op_name(event.node);
      arguments["location"] = to_string(graph.nodes[event.node].location);
    }
    if (event.bytes > 0) arguments["bytes"] = event.bytes;
    item["args"] = std::move(arguments);
    events.push_back(std::move(item));
  }
  nlohmann::ordered_json document = {{"displayTimeUnit", "ns"}, {"otherData", {{"simulated", timeline.simulated}}}};
  document["traceEvents"] = std::move(events);
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status write_chrome_trace(const Timeline& timeline, const Graph& graph, const std::string& path) {
  return write_file(path, {to_chrome_trace(timeline, graph)});
}

}  // namespace cleave
