// The executor's inner namespace: what stands here is no public interface. It uses the planner's names (Program, Step, CostedProblem) as
// its own.
#pragma once

namespace cleave::planner {}

namespace cleave::runtime {
using namespace planner;
}  // namespace cleave::runtime
