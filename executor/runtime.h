// The executor's inner namespace: its contents are no public interface. It imports the names of graph/kernel (KernelRequest, RowCut) and of
// the planner (Program, Step, CostedProblem).
#pragma once

namespace cleave::kernels {}
namespace cleave::planner {}

namespace cleave::runtime {
using namespace kernels;
using namespace planner;
}  // namespace cleave::runtime
