// Below which time no schedule of a placement can go, however well work and copies overlap: the longest chain of computations and transfers
// that wait for each other, and the work of the busiest resource.
#pragma once

#include <string_view>

#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

enum class Resource : std::uint8_t { host, accelerator, to_accelerator, to_host };
std::string_view to_string(Resource resource);  ///< "the host", "copies to the accelerator"

struct ElapsedBounds {
  double critical_path_seconds = 0;  ///< control decisions left out; in a loop what is carried from each trip to the same value of the next
  double busiest_seconds = 0;
  Resource busiest = Resource::host;
};

/// `program`: of the placement; what travels together there takes less than by itself.
ElapsedBounds find_elapsed_bounds(const Program& program, const CostedProblem& costed, const Placement& placement,
                                  const Transfers& transfers);

}  // namespace cleave::planner
