#include "graph/passes/verify.h"

#include "graph/passes/verify_rules.h"

namespace cleave {
namespace detail {

std::string describe(const Graph& graph, NodeId node) {
  if (!node.valid()) return "no node";
  std::string text = "node " + std::to_string(node.index);
  if (!graph.nodes.contains(node)) return text + " (out of range)";
  return text + " (`" + std::string(graph.op_name(node)) + "`)";
}

std::string describe(const Graph& graph, ValueId value) {
  if (!value.valid()) return "no value";
  std::string text = "value " + std::to_string(value.index);
  if (!graph.values.contains(value)) return text + " (out of range)";
  const std::string& name = graph.values[value].name;
  return name.empty() ? text : text + " (`" + name + "`)";
}

std::string describe(const Graph& graph, RegionId region) {
  if (!region.valid()) return "no region";
  std::string text = "region " + std::to_string(region.index);
  if (!graph.regions.contains(region)) return text + " (out of range)";
  return text + " (" + std::string(to_string(graph.regions[region].kind)) + ")";
}

}  // namespace detail

std::vector<Finding> find_broken_rules(const Graph& graph) {
  detail::Findings findings;
  detail::verify_structure(graph, findings);
  if (findings.none()) detail::verify_nodes(graph, findings);
  if (findings.none()) detail::verify_order(graph, findings);
  return findings.take();
}

std::vector<std::string> verify(const Graph& graph) {
  std::vector<std::string> sentences;
  for (Finding& finding : find_broken_rules(graph)) sentences.push_back(std::move(finding.sentence));
  return sentences;
}

}  // namespace cleave
