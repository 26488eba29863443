// Placement: on which sides each node has a copy, its cost, and a lower bound that proves it. solve() is the only function that turns a
// PlacementProblem into one.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/flow/min_cut.h"
#include "partitioner/solver/device_set.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// The transfer of one value from one device to another in one region.
struct PlannedTransfer {
  std::int32_t value = 0;
  DeviceId from = kHost, to = kAccelerator;
  std::int32_t region = 0;
  friend bool operator==(const PlannedTransfer&, const PlannedTransfer&) = default;
};

struct Placement {
  /// Per node, 0 or 1; at least one of the two is 1. With several accelerators the second says whether any of them has a copy.
  std::vector<std::uint8_t> on_host, on_accelerator;
  std::vector<DeviceSet> on;               ///< per node, with several accelerators: the devices with a copy; empty with one
  std::size_t devices = 2;                 ///< the host and its accelerators
  std::vector<PlannedTransfer> transfers;  ///< ordered by value, route, region
  double objective_seconds = 0;            ///< recomputed from the problem
  double bound_seconds = 0;                ///< lower bound on every placement's cost; without a memory capacity, the maximum flow
  double gap = 0;                          ///< (objective - bound) / objective; 0 for a minimum cut within rounding
  double solve_seconds = 0;                ///< wall clock

  [[nodiscard]] bool has_copy(std::size_t node, DeviceId device) const {
    return on.empty() ? (device == kHost ? on_host : on_accelerator)[node] != 0 : on[node].has(device);
  }
};

struct SolveOptions {
  Solver solver = Solver::flat;
  bool reduce = true;  ///< decide obvious nodes before the cut (reduce.h); the answer does not depend on it
  // Only where the accelerator's memory is too small for the plain minimum cut:
  double tolerance = 1e-5;  ///< stop at this relative gap
  int max_branches = 2000;  ///< most nodes of the search tree; beyond that the remaining gap is reported
  double max_work = 3e8;    ///< most vertices and arcs in all cuts together; beyond that the remaining gap is reported
};

/// The exact optimum (ties: fewest copies on the accelerator). Under a memory capacity: the best placement found, with its bound and gap.
/// An Error only for a malformed problem, pins that contradict each other, or pins that do not fit into the memory.
Result<Placement> solve(const PlacementProblem& problem, const SolveOptions& options = {});

/// The Placement for given sides: for each value the cheapest transfers that reach its uses (of equally cheap ones the outermost), and the
/// total cost.
Placement evaluate(const PlacementProblem& problem, std::vector<std::uint8_t> on_host, std::vector<std::uint8_t> on_accelerator);

/// Seconds per execution of each node on a side, if it has a copy there: its own cost less the savings from its neighbors there.
std::vector<double> execution_seconds(const PlacementProblem& problem, const std::vector<std::uint8_t>& on_host,
                                      const std::vector<std::uint8_t>& on_accelerator, DeviceId side);

/// Rules that a placement breaks (a node without a copy, a violated pin, a use that no copy or transfer reaches), as sentences; empty if
/// none.
std::vector<std::string> verify(const PlacementProblem& problem, const Placement& placement);

}  // namespace cleave::planner
