// Which operations of a program run as one kernel, and what that saves: what explain shows of fusion. Decides nothing.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct FusedKernel {
  DeviceId device;
  std::vector<NodeId> nodes;  ///< as they are done
  double saved_seconds = 0;   ///< a run
};

/// The kernels that the program has, after some were split at calls or given up: the host's, then the accelerator's, in program order.
std::vector<FusedKernel> fused_kernels(const Program& program, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
