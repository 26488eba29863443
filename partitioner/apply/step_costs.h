// StepCosts: what the plan says that each step of its Program takes, and how much memory there is. What an executor goes by, so that what
// is predicted and what the virtual clock replays are the same numbers.
#pragma once

#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

struct StepCosts {
  IdVector<NodeId, double> host_seconds, accelerator_seconds;  ///< one execution; of what runs as one kernel all with the last
  IdVector<NodeId, double> host_alone;                         ///< on the host, if every operation ran by itself
  IdVector<ChannelId, double> channel_seconds;                 ///< one transfer (packets.h)
  IdVector<DeviceId, double> memory_bytes;                     ///< 0: not known
  double start_seconds = 0;                                    ///< of each kernel on the accelerator, beside its work
  double run_seconds = 0;                                      ///< of the host, beside its steps
};

/// What a plan counts on to run as one kernel on `device`: operations of one region, as they are done, by kernel.
std::vector<std::vector<NodeId>> kernels_of_several(const Program& program, DeviceId device);

/// One execution of each node that `device` computes, less what its neighbours there save it; what runs as one kernel takes its time with
/// its last operation.
IdVector<NodeId, double> step_seconds(const Program& program, DeviceId device, const CostedProblem& costed);

/// `costed` as the plan has it, with everything that a profile observed.
StepCosts step_costs(const Program& program, const CostedProblem& costed, const Machine& machine);

}  // namespace cleave::planner
