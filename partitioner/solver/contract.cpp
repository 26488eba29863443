// Finds classes by sorting nodes by group, and merges their pins. Remembers for each class which node forces it to which side, so that an
// error can name both nodes.
#include "partitioner/solver/contract.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;
constexpr std::int32_t kNobody = -1;

std::string name_of(const PlacementProblem& problem, std::int32_t node) {
  if (problem.names.empty() || problem.names[node].empty()) return "node " + std::to_string(node);
  return "`" + problem.names[node] + "`";
}

Error conflict(const PlacementProblem& problem, std::int32_t host, std::int32_t accelerator) {
  const bool pinned = problem.nodes[accelerator].pin == Pin::accelerator;
  if (host == accelerator) return {name_of(problem, host) + " is pinned to the host, yet must have a copy on the accelerator"};
  return {name_of(problem, host) + " is pinned to the host; it is in group " + std::to_string(problem.nodes[host].group) + " with " +
          name_of(problem, accelerator) + ", which " + (pinned ? "is pinned to the accelerator" : "must have a copy on the accelerator")};
}

/// Numbers the classes in the order of their first nodes. A node without a group is a class by itself; each group is one class.
std::int32_t number_classes(const PlacementProblem& problem, std::vector<std::int32_t>& class_of) {
  const auto count = static_cast<std::int32_t>(problem.nodes.size());
  std::vector<std::int32_t> grouped;
  for (std::int32_t i = 0; i < count; ++i) {
    if (problem.nodes[i].group != PlacementProblem::kNoGroup) grouped.push_back(i);
  }
  std::stable_sort(grouped.begin(), grouped.end(),
                   [&](std::int32_t a, std::int32_t b) { return problem.nodes[a].group < problem.nodes[b].group; });
  std::vector<std::int32_t>& first = class_of;  // the first node of the class, until the second pass
  first.resize(problem.nodes.size());
  std::iota(first.begin(), first.end(), 0);
  for (std::size_t i = 1; i < grouped.size(); ++i) {
    if (problem.nodes[grouped[i]].group == problem.nodes[grouped[i - 1]].group) first[grouped[i]] = first[grouped[i - 1]];
  }
  std::int32_t classes = 0;
  for (std::int32_t i = 0; i < count; ++i) class_of[i] = first[i] == i ? classes++ : class_of[first[i]];
  return classes;
}

}  // namespace

Result<Contraction> contract(const PlacementProblem& problem) {
  Contraction result;
  result.classes.resize(number_classes(problem, result.class_of));
  std::vector<std::int32_t> on_host, on_accelerator;  // node that forces the class to this side, allocated on first use
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.nodes[i];
    Contraction::Class& group = result.classes[result.class_of[i]];
    group.replicable &= node.replicable;
    group.keep_accelerator_copy |= node.keep_accelerator_copy;
    if (node.pin == Pin::none && !node.keep_accelerator_copy) continue;
    if (on_host.empty()) {
      on_host.assign(result.classes.size(), kNobody);
      on_accelerator.assign(result.classes.size(), kNobody);
    }
    std::int32_t& host = on_host[result.class_of[i]];
    std::int32_t& accelerator = on_accelerator[result.class_of[i]];
    if (node.pin == Pin::host && host == kNobody) host = static_cast<std::int32_t>(i);
    if ((node.pin == Pin::accelerator || node.keep_accelerator_copy) && accelerator == kNobody) accelerator = static_cast<std::int32_t>(i);
    if (host != kNobody && accelerator != kNobody) return conflict(problem, host, accelerator);
    if (node.pin != Pin::none) group.pin = node.pin;
  }
  for (Contraction::Class& group : result.classes) {
    if (!group.keep_accelerator_copy || (group.replicable && group.pin == Pin::none)) continue;
    group.pin = Pin::accelerator;  // the copy on the accelerator is then the only one
    group.keep_accelerator_copy = false;
  }
  return result;
}

}  // namespace cleave::planner
