// Lists the operations of a program that run as one kernel and the time this saves, for the explain report. It makes no decision.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct FusedKernel {
  DeviceId device;
  std::vector<NodeId> nodes;  ///< in execution order
  double saved_seconds = 0;   ///< in a whole run
};

/// The fused kernels of a program, the host's before the accelerator's, in program order. They may be parts of the groups that were
/// planned, since some of these were split at host calls or given up.
std::vector<FusedKernel> fused_kernels(const Program& program, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
