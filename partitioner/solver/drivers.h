// Drivers: the nodes that decide a region's control flow. If a region's driver has no copy on the host, the accelerator executes the region
// alone and no transfer from the host can stand in it. The cut ignores this rule, so that its value is only a lower bound. bring_drivers()
// finds what is cheaper: to hoist such transfers out of the region, or to move the driver to the host.
#pragma once

#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Whether any region has a driver.
bool has_drivers(const PlacementProblem& problem);
/// Per node: whether it is a driver. A driver's value says that its loop or branch is being executed; only the host can send it, to the
/// accelerator.
std::vector<std::uint8_t> drivers_of(const PlacementProblem& problem);

/// Moves to the host alone the drivers that nodes with a copy on the host need.
void settle_drivers(const PlacementProblem& problem, std::vector<std::uint8_t>& on_host, std::vector<std::uint8_t>& on_accelerator);

/// The given placement, or a cheaper one in which some drivers and those of all enclosing regions are on the host.
Placement bring_drivers(const PlacementProblem& problem, Placement placement);

}  // namespace cleave::planner
