#include "partitioner/solver/drivers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace cleave::planner {
namespace {

constexpr std::size_t kMostTried = 64;  ///< limit on candidates, each of which evaluates the whole problem

/// The driver of a region if it has no copy on the host, else kNoDriver.
std::int32_t absent_driver(const PlacementProblem& problem, const Placement& placement, std::int32_t region) {
  const std::int32_t driver = problem.regions[region].driver;
  return driver == PlacementProblem::kNoDriver || placement.on_host[driver] ? PlacementProblem::kNoDriver : driver;
}

/// Regions with an absent driver in which a node on the accelerator reads a value that is computed on the host, outside the region.
std::vector<std::int32_t> waiting_regions(const PlacementProblem& problem, const Placement& placement) {
  std::set<std::int32_t> found;
  for (const auto& use : problem.uses) {
    const auto& value = problem.values[use.value];
    if (!placement.on_accelerator[use.node] || placement.on_accelerator[value.node] || use.region == value.region) continue;
    if (value.host_to_accelerator_seconds > 0 && absent_driver(problem, placement, use.region) != PlacementProblem::kNoDriver)
      found.insert(use.region);
  }
  return {found.begin(), found.end()};
}

/// The placement with the drivers of `region` and of all enclosing regions on the host alone; empty if one of them may not be there.
std::optional<Placement> with_host_in(const PlacementProblem& problem, const Placement& placement, std::int32_t region) {
  std::vector<std::uint8_t> host = placement.on_host, accelerator = placement.on_accelerator;
  for (; region != PlacementProblem::kNoParent; region = problem.regions[region].parent) {
    const std::int32_t driver = absent_driver(problem, placement, region);
    if (driver == PlacementProblem::kNoDriver) continue;
    const auto& node = problem.nodes[driver];
    if (node.pin == PlacementProblem::Pin::accelerator || node.keep_accelerator_copy || node.group != PlacementProblem::kNoGroup) return {};
    host[driver] = 1;
    accelerator[driver] = 0;
  }
  return evaluate(problem, std::move(host), std::move(accelerator));
}

}  // namespace

bool has_drivers(const PlacementProblem& problem) {
  return std::any_of(problem.regions.begin(), problem.regions.end(),
                     [](const auto& region) { return region.driver != PlacementProblem::kNoDriver; });
}

std::vector<std::uint8_t> drivers_of(const PlacementProblem& problem) {
  std::vector<std::uint8_t> drivers(problem.nodes.size(), 0);
  for (const auto& region : problem.regions)
    if (region.driver != PlacementProblem::kNoDriver) drivers[static_cast<std::size_t>(region.driver)] = 1;
  return drivers;
}

void settle_drivers(const PlacementProblem& problem, std::vector<std::uint8_t>& on_host, std::vector<std::uint8_t>& on_accelerator) {
  if (!has_drivers(problem)) return;
  const std::vector<std::uint8_t> drivers = drivers_of(problem);
  for (bool changed = true; std::exchange(changed, false);) {  // at most as many rounds as regions are nested
    for (const auto& use : problem.uses) {
      const auto driver = static_cast<std::size_t>(problem.values[use.value].node);
      if (!drivers[driver] || !on_host[use.node] || on_host[driver]) continue;
      on_host[driver] = 1;
      on_accelerator[driver] = 0;
      changed = true;
    }
  }
}

Placement bring_drivers(const PlacementProblem& problem, Placement placement) {
  const std::vector<std::int32_t> regions = waiting_regions(problem, placement);
  for (std::size_t i = 0; i < std::min(regions.size(), kMostTried); ++i) {
    std::optional<Placement> other = with_host_in(problem, placement, regions[i]);
    if (other && other->objective_seconds < placement.objective_seconds) placement = *std::move(other);
  }
  return placement;
}

}  // namespace cleave::planner
