#include "partitioner/report/memory_figures.h"

#include <algorithm>

#include "graph/base/units.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {

std::vector<MemoryFigures> memory_figures(const Plan& plan) {
  std::vector<MemoryFigures> figures;
  for (std::size_t d = 0; d < plan.program.devices.size(); ++d) {
    const DeviceId device(d);
    const double memory = device == kHost                     ? plan.machine.host.memory_bytes
                          : plan.machine.accelerators.empty() ? 0
                                                              : plan.machine.accelerators[0].memory_bytes;
    figures.push_back({device, plan.find_peak ? plan.find_peak(plan.program, device) : peak_without_sharing(plan.program, device), memory});
  }
  return figures;
}

std::string memory_phrase(const Graph& graph, const MemoryFigures& figures) {
  constexpr std::size_t kMost = 3;
  constexpr double kWorthNaming = 0.01;
  std::string text = "peak memory " + format_bytes(figures.peak.bytes);
  double named = 0;
  for (std::size_t i = 0; i < std::min(kMost, figures.peak.largest.size()); ++i) {
    const Value& value = graph.values[figures.peak.largest[i]];
    const double bytes = static_cast<double>(value.type.bytes());
    if (i > 0 && bytes < kWorthNaming * figures.peak.bytes) break;  // sorted by size, largest first
    const std::string place = place_phrase(graph.nodes[value.producer].location);
    text += (i > 0 ? ", " : ": ") + value_phrase(graph, figures.peak.largest[i]) + " (" + format_bytes(bytes) +
            (place.empty() ? ")" : ", " + place + ")");
    named += bytes;
  }
  return text + (named < 0.99 * figures.peak.bytes ? ", …" : "");
}

}  // namespace cleave::planner
