// The rules of a well-formed PlacementProblem. The first violation is reported with its path.
#include "partitioner/solver/problem.h"

#include <cmath>
#include <limits>

#include "partitioner/solver/region_tree.h"

namespace cleave::planner {
namespace {

using Problem = PlacementProblem;

Status fail(const char* list, std::size_t index, const char* field, const std::string& what) {
  return Error{std::string(list) + "[" + std::to_string(index) + "]." + field + " " + what};
}

bool in_range(std::int32_t index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

std::string out_of_range(std::int32_t index, std::size_t size, const char* list) {
  return "is " + std::to_string(index) + ", but there are " + std::to_string(size) + " " + list;
}

/// A cost or frequency: finite and not negative.
bool amount(double number) {
  return std::isfinite(number) && number >= 0;
}
constexpr const char* kAmount = "must be a finite number that is not negative";

Status verify_regions(const std::vector<Problem::Region>& regions, std::size_t nodes) {
  if (regions.empty()) return Error{"regions must hold at least the root"};
  if (regions[0].parent != Problem::kNoParent) return fail("regions", 0, "parent", "must be none: region 0 is the root");
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (i > 0 && (regions[i].parent < 0 || static_cast<std::size_t>(regions[i].parent) >= i)) {
      return fail("regions", i, "parent", "must be an earlier region");
    }
    if (!amount(regions[i].frequency)) return fail("regions", i, "frequency", kAmount);
    if (regions[i].driver != Problem::kNoDriver && !in_range(regions[i].driver, nodes))
      return fail("regions", i, "driver", out_of_range(regions[i].driver, nodes, "nodes"));
  }
  return {};
}

Status verify_nodes(const Problem& problem) {
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const Problem::Node& node = problem.nodes[i];
    if (!in_range(node.region, problem.regions.size())) {
      return fail("nodes", i, "region", out_of_range(node.region, problem.regions.size(), "regions"));
    }
    if (!amount(node.host_seconds)) return fail("nodes", i, "host_seconds", kAmount);
    if (!amount(node.accelerator_seconds)) return fail("nodes", i, "accelerator_seconds", kAmount);
    if (!amount(node.accelerator_bytes)) return fail("nodes", i, "accelerator_bytes", kAmount);
    if (node.group < Problem::kNoGroup) return fail("nodes", i, "group", "must not be negative");
  }
  return {};
}

Status verify_values(const Problem& problem) {
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Problem::Value& value = problem.values[i];
    if (!in_range(value.node, problem.nodes.size()))
      return fail("values", i, "node", out_of_range(value.node, problem.nodes.size(), "nodes"));
    if (!in_range(value.region, problem.regions.size())) {
      return fail("values", i, "region", out_of_range(value.region, problem.regions.size(), "regions"));
    }
    if (!amount(value.host_to_accelerator_seconds)) return fail("values", i, "host_to_accelerator_seconds", kAmount);
    if (!amount(value.accelerator_to_host_seconds)) return fail("values", i, "accelerator_to_host_seconds", kAmount);
  }
  return {};
}

Status verify_uses(const Problem& problem) {
  const RegionTree tree(problem.regions);
  for (std::size_t i = 0; i < problem.uses.size(); ++i) {
    const Problem::Use& use = problem.uses[i];
    if (!in_range(use.value, problem.values.size()))
      return fail("uses", i, "value", out_of_range(use.value, problem.values.size(), "values"));
    if (!in_range(use.node, problem.nodes.size())) return fail("uses", i, "node", out_of_range(use.node, problem.nodes.size(), "nodes"));
    if (!in_range(use.region, problem.regions.size())) {
      return fail("uses", i, "region", out_of_range(use.region, problem.regions.size(), "regions"));
    }
    if (!tree.within(use.region, problem.values[use.value].region)) {
      return fail("uses", i, "region",
                  "does not see value " + std::to_string(use.value) + ", which lives neither there nor in a region around it");
    }
  }
  return {};
}

/// Checks that no copy costs less than zero after savings, within rounding.
Status verify_savings(const Problem& problem) {
  std::vector<double> host(problem.savings.empty() ? 0 : problem.nodes.size()), accelerator(host.size());
  for (std::size_t i = 0; i < problem.savings.size(); ++i) {
    const Problem::Saving& saving = problem.savings[i];
    const std::size_t nodes = problem.nodes.size();
    if (!in_range(saving.node, nodes)) return fail("savings", i, "node", out_of_range(saving.node, nodes, "nodes"));
    if (saving.with.empty()) return fail("savings", i, "with", "must name a node");
    for (const std::int32_t other : saving.with) {
      if (!in_range(other, nodes)) return fail("savings", i, "with", out_of_range(other, nodes, "nodes"));
    }
    if (!amount(saving.host_seconds)) return fail("savings", i, "host_seconds", kAmount);
    if (!amount(saving.accelerator_seconds)) return fail("savings", i, "accelerator_seconds", kAmount);
    const auto exceeds = [](double& sum, double saved, double cost) { return (sum += saved) > cost * (1 + 1e-9); };
    const auto refuse = [&](const char* field) {
      return fail("savings", i, field, "saves more of node " + std::to_string(saving.node) + " than it costs");
    };
    const Problem::Node& node = problem.nodes[saving.node];
    if (exceeds(host[saving.node], saving.host_seconds, node.host_seconds)) return refuse("host_seconds");
    if (exceeds(accelerator[saving.node], saving.accelerator_seconds, node.accelerator_seconds)) return refuse("accelerator_seconds");
  }
  return {};
}

/// Bound on the cost of any placement, so that no sum of a solver overflows.
double total_seconds(const Problem& problem) {
  double most = 0, total = 0;
  for (const auto& region : problem.regions) most += region.frequency;
  for (const auto& node : problem.nodes) total += problem.regions[node.region].frequency * (node.host_seconds + node.accelerator_seconds);
  for (const auto& value : problem.values) total += most * (value.host_to_accelerator_seconds + value.accelerator_to_host_seconds);
  return total;
}

}  // namespace

Status verify(const PlacementProblem& problem) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4;
  if (problem.nodes.size() > kMost || problem.values.size() > kMost || problem.uses.size() > kMost || problem.regions.size() > kMost ||
      problem.savings.size() > kMost) {
    return Error{"the problem is too large: more than " + std::to_string(kMost) + " elements of one kind"};
  }
  if (Status status = verify_regions(problem.regions, problem.nodes.size()); !status) return status;
  if (Status status = verify_nodes(problem); !status) return status;
  if (Status status = verify_values(problem); !status) return status;
  if (Status status = verify_uses(problem); !status) return status;
  if (Status status = verify_savings(problem); !status) return status;
  if (!amount(problem.accelerator_memory_bytes)) return Error{std::string("accelerator_memory_bytes ") + kAmount};
  if (problem.accelerator_memory_bytes > 0 && problem.accelerator_memory_bytes < 1) {
    return Error{"accelerator_memory_bytes must be 0 (no limit) or at least 1"};
  }
  double bytes = 0;
  for (const auto& node : problem.nodes) bytes += node.accelerator_bytes;
  if (!(bytes < 1e300)) return Error{"the accelerator_bytes add up to more than 1e300"};
  if (!problem.names.empty() && problem.names.size() != problem.nodes.size()) return Error{"names must be one a node, or none"};
  if (!(total_seconds(problem) < 1e300)) return Error{"the costs times the frequencies add up to more than 1e300 seconds"};
  return {};
}

}  // namespace cleave::planner
