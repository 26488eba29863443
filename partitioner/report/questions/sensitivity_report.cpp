#include "partitioner/report/questions/sensitivity_report.h"

#include <algorithm>
#include <cmath>

#include "graph/base/json_writer.h"
#include "graph/base/version.h"
#include "partitioner/report/placed_things.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNamedNodes = 6;

std::string_view name_of(Varied varied) {
  switch (varied) {
    case Varied::bandwidth: return "bandwidth";
    case Varied::latency: return "latency";
    case Varied::speed: return "speed";
  }
  return "";
}

std::string_view phrase_of(Varied varied) {
  switch (varied) {
    case Varied::bandwidth: return "bandwidth of the link";
    case Varied::latency: return "latency of the link";
    case Varied::speed: return "speed of the accelerator";
  }
  return "";
}

std::string names(const std::vector<NodeId>& nodes, const PlacedThings& things) {
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamedNodes); ++i) text += (i == 0 ? "`" : ", `") + things.paths[nodes[i]] + "`";
  return nodes.size() <= kMostNamedNodes ? text : text + " and " + std::to_string(nodes.size() - kMostNamedNodes) + " more";
}

std::string multiple_text(double multiple) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", multiple);
  return std::string(text) + "x";
}

}  // namespace

std::string to_text(const MachineRanges& report, const Plan& plan) {
  const PlacedThings things = placed_things(plan);
  std::string text = "the plan stays the same, each by itself, with\n";
  for (const MachineRanges::Range& range : report.ranges) {
    const bool below = range.multiples.low > 0, above = !std::isinf(range.multiples.high);
    text += "  " + std::string(phrase_of(range.varied)) + " ";
    text += below && above ? "from " + multiple_text(range.multiples.low) + " to " + multiple_text(range.multiples.high)
            : below        ? "from " + multiple_text(range.multiples.low) + " on"
            : above        ? "up to " + multiple_text(range.multiples.high)
                           : "whatever it is";
    text += below || above ? " of that of " + machine_phrase(plan.machine) + "\n" : "\n";
    for (const MachineRanges::Edge& edge : range.edges) {
      const std::string where = std::string("    ") + (edge.upper ? "above " : "below ") + multiple_text(edge.multiple) + ": ";
      if (!edge.to_host.empty())
        text += where + names(edge.to_host, things) + (edge.to_host.size() == 1 ? " leaves" : " leave") + " the accelerator\n";
      if (!edge.to_accelerator.empty())
        text += where + names(edge.to_accelerator, things) + (edge.to_accelerator.size() == 1 ? " goes" : " go") + " to the accelerator\n";
      if (edge.to_host.empty() && edge.to_accelerator.empty()) text += where + "the same operations, but other copies or transfers\n";
    }
  }
  return text;
}

std::string to_json(const MachineRanges& report, const Plan& plan) {
  const PlacedThings things = placed_things(plan);
  std::string text;
  JsonWriter json(text, 2);
  const auto nodes = [&](const char* name, const std::vector<NodeId>& ids) {
    json.list(name, [&] {
      for (const NodeId id : ids) {
        json.object([&] {
          json.field("id", id.index);
          json.field("statement", things.paths[id]);
        });
      }
    });
  };
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("model", plan.graph->name);
    json.list("sensitivity", [&] {
      for (const MachineRanges::Range& range : report.ranges) {
        json.object([&] {
          json.field("of", name_of(range.varied));
          json.field("low", range.multiples.low);
          json.field("high", range.multiples.high);  // null: no upper end
          json.list("edges", [&] {
            for (const MachineRanges::Edge& edge : range.edges) {
              json.object([&] {
                json.field("multiple", edge.multiple);
                nodes("to_host", edge.to_host);
                nodes("to_accelerator", edge.to_accelerator);
              });
            }
          });
        });
      }
    });
  });
  return text + "\n";
}

}  // namespace cleave::planner
