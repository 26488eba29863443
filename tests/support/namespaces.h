// Tests see the planner's and the executor's inner names as if they were their own.
#pragma once

namespace cleave::planner {}
namespace cleave::runtime {}

namespace cleave::testing {
using namespace planner;
using namespace runtime;
}  // namespace cleave::testing
