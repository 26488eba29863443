// StepCosts: the plan's time for each step of its Program, and the devices' memory. The executor reads them, so that the prediction and the
// virtual clock's replay use the same numbers.
#pragma once

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

struct StepCosts {
  /// By device, for one execution of each node. A fused kernel's time is that of its last operation, the others have 0.
  IdVector<DeviceId, IdVector<NodeId, double>> seconds;
  IdVector<NodeId, double> host_alone;          ///< on the host, without fusion
  IdVector<ChannelId, double> channel_seconds;  ///< for one transfer (coalesce.h)
  IdVector<DeviceId, double> memory_bytes;      ///< 0: unknown
  double start_seconds = 0;                     ///< launch overhead of each kernel on an accelerator, in addition to its work
  double run_seconds = 0;                       ///< the host's fixed cost of a run, in addition to its steps
};

/// The fused kernels that a plan counts on for `device`, each as its operations in execution order; all are of one region.
std::vector<std::vector<NodeId>> kernels_of_several(const Program& program, DeviceId device);

/// The time of one execution of each node that `device` computes, less the savings by fusion with its neighbors. A fused kernel's time is
/// that of its last operation, the others have 0.
IdVector<NodeId, double> step_seconds(const Program& program, DeviceId device, const CostedProblem& costed);

/// `costed` must be the plan's, with all that a profile observed applied.
StepCosts step_costs(const Program& program, const CostedProblem& costed, const Machine& machine);

}  // namespace cleave::planner
