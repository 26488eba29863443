// The executor's inner namespace: its contents are no public interface. It imports the planner's names (Program, Step, CostedProblem).
#pragma once

namespace cleave::planner {}

namespace cleave::runtime {
using namespace planner;
}  // namespace cleave::runtime
