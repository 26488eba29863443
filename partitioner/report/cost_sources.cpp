#include "partitioner/report/cost_sources.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cleave::planner {
namespace {

struct Group {
  CostSource source;
  const char* words;
  bool names_ops;  ///< lists the operations of the group, for groups with inexact costs
};
constexpr std::array kGroups = {Group{CostSource::measured, "measured", false}, Group{CostSource::observed, "observed in runs", false},
                                Group{CostSource::given, "given", false}, Group{CostSource::by_class, "by their class", true},
                                Group{CostSource::by_rate, "by rates", true}};

/// The number of operations in a group, and their names, each once.
struct Count {
  int operations = 0;
  std::vector<std::string> names;
};

Count count(const Plan& plan, CostSource source) {
  Count all;
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    const Node& node = plan.graph->nodes[NodeId(i)];
    if (node.kind != NodeKind::operation) continue;
    const CostSources& sources = plan.costed.sources[NodeId(i)];
    const bool here = (plan.placement.has_copy(i, kHost) && sources.host == source) ||
                      (plan.placement.has_copy(i, kAccelerator) && sources.accelerator == source);
    if (!here) continue;
    ++all.operations;
    const std::string name(plan.graph->op_name(NodeId(i)));
    if (std::find(all.names.begin(), all.names.end(), name) == all.names.end()) all.names.push_back(name);
  }
  return all;
}

std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
  return " (" + text + (names.size() > kMost ? ", …)" : ")");
}

std::string threads(const Plan& plan) {
  const int measured = plan.machine.host.threads, here = plan.costed.host_threads;
  if (measured <= 0 || here <= 0 || measured == here) return "";
  const std::string of = std::to_string(measured) + (measured == 1 ? " thread" : " threads");
  if (here > measured) return "; of the host with " + of + ", not " + std::to_string(here);
  return "; of the host with " + of + ", counted over to " + std::to_string(here);
}

}  // namespace

std::string cost_sources(const Plan& plan) {
  std::string text;
  bool only_rates = true;
  for (const Group& group : kGroups) {
    const Count all = count(plan, group.source);
    if (all.operations == 0) continue;
    only_rates = only_rates && group.source == CostSource::by_rate;
    text +=
        (text.empty() ? "costs: " : ", ") + std::to_string(all.operations) + " " + group.words + (group.names_ops ? list(all.names) : "");
  }
  return only_rates ? "" : text + threads(plan) + "\n";
}

}  // namespace cleave::planner
