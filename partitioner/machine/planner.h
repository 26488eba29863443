// The planner's inner namespace: its contents are no public interface. It imports the names of graph/kernel (KernelRequest, FusibleGroup).
#pragma once

namespace cleave::kernels {}

namespace cleave::planner {
using namespace kernels;
}  // namespace cleave::planner
