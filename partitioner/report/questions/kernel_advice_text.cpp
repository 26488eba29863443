#include "partitioner/report/questions/kernel_advice_text.h"

#include <algorithm>
#include <limits>

#include "graph/base/diagnostic_json.h"
#include "graph/base/json_writer.h"
#include "graph/base/units.h"
#include "graph/base/version.h"
#include "partitioner/advice/tried_edits.h"
#include "partitioner/report/table.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

bool worth_saying(const KernelAdvice& advice, const Plan& plan) {
  return advice.saved_seconds && *advice.saved_seconds >= kWorthSaying * plan.predicted_seconds;
}

std::string places(const Graph& graph, const std::vector<NodeId>& nodes) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMost); ++i)
    text += (i == 0 ? "" : " ") + place_phrase(graph.nodes[nodes[i]].location);
  return nodes.size() > kMost ? text + " …" : text;
}

}  // namespace

std::string to_text(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most) {
  if (advice.empty()) return "nothing runs on the host for want of an accelerator kernel\n";
  const auto saving =
      static_cast<std::size_t>(std::count_if(advice.begin(), advice.end(), [&](const auto& a) { return worth_saying(a, plan); }));
  std::string text = saving > 0 ? "what an accelerator kernel would save of a run of " + format_seconds(plan.predicted_seconds) +
                                      " (each planned anew, predicted):\n"
                                : "no accelerator kernel alone would save anything worth having of a run of " +
                                      format_seconds(plan.predicted_seconds) + " (each planned anew, predicted):\n";
  Table table;
  for (std::size_t i = 0; i < std::min(advice.size(), most); ++i) {
    const KernelAdvice& each = advice[i];
    const std::string saves = !each.saved_seconds        ? "not tried: the program is too large, or that plan does not fit"
                              : worth_saying(each, plan) ? "saves " + format_seconds(*each.saved_seconds) + " (" +
                                                               percent(*each.saved_seconds, plan.predicted_seconds) + ")"
                                                         : "saves nothing";
    table.add(0, {each.name, saves, "host " + format_seconds(each.host_seconds) + " a run", counted(each.nodes.size(), "operation"),
                  places(*plan.graph, each.nodes)});
  }
  text += table.text(std::numeric_limits<std::size_t>::max());
  return advice.size() > most ? text + "  and " + std::to_string(advice.size() - most) + " that save less\n" : text;
}

std::string to_json(const std::vector<KernelAdvice>& advice, const Plan& plan, std::size_t most) {
  std::string text;
  JsonWriter json(text, 2);
  JsonLocations locations(json);
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("model", plan.graph->name);
    json.field("predicted_seconds", plan.predicted_seconds);
    json.list("advice", [&] {
      for (std::size_t i = 0; i < std::min(advice.size(), most); ++i) {
        json.object([&] {
          json.field("kernel", advice[i].name);
          json.field("host_seconds", advice[i].host_seconds);
          json.field("saved_seconds", advice[i].saved_seconds);
          json.list("nodes", [&] {
            for (const NodeId node : advice[i].nodes) json.value(node.index);
          });
          locations.field(plan.graph->nodes[advice[i].nodes.front()].location);
        });
      }
    });
  });
  return text + "\n";
}

}  // namespace cleave::planner
