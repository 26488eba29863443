// Lower bounds on the elapsed time of a placement, which hold for every schedule however well work and copies overlap: the longest chain of
// dependent computations and transfers, and the total work of the busiest resource.
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
  /// Without control decisions. In a loop it follows chains from a loop-carried value to the same value of the next iteration.
  double critical_path_seconds = 0;
  double busiest_seconds = 0;
  Resource busiest = Resource::host;
};

/// `program` must be made from `placement`; it is read for coalesced transfers, whose values take less time than they would by themselves.
ElapsedBounds find_elapsed_bounds(const Program& program, const CostedProblem& costed, const Placement& placement,
                                  const Transfers& transfers);

}  // namespace cleave::planner
