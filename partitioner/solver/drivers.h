// Drivers: where transfers to the accelerator wait for the host to come by. A region whose driver has no copy on the host is walked by the
// accelerator alone, and the cut does not see that what it would send in there has nobody to send it: it is a bound. What would have been
// sent there is sent before instead, or the host is told of the decisions; here it is found which is cheaper.
#pragma once

#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Whether any region has one.
bool has_drivers(const PlacementProblem& problem);
/// Per node: whether it is one. Their values say that they are under way, and only the host can tell the accelerator.
std::vector<std::uint8_t> drivers_of(const PlacementProblem& problem);

/// Brings to the host alone the drivers that nodes with a copy there need.
void settle_drivers(const PlacementProblem& problem, std::vector<std::uint8_t>& on_host, std::vector<std::uint8_t>& on_accelerator);

/// The placement as it is, or a cheaper one in which drivers, with those around them, are on the host.
Placement bring_drivers(const PlacementProblem& problem, Placement placement);

}  // namespace cleave::planner
