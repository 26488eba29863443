// Makes the planner's and the executor's internal names visible to tests without qualification.
#pragma once

namespace cleave::planner {}
namespace cleave::runtime {}

namespace cleave::testing {
using namespace planner;
using namespace runtime;
}  // namespace cleave::testing
