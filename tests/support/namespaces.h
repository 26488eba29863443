// Makes the internal names of kernels, planner and executor visible to tests without qualification.
#pragma once

namespace cleave::kernels {}
namespace cleave::planner {}
namespace cleave::runtime {}

namespace cleave::testing {
using namespace kernels;
using namespace planner;
using namespace runtime;
}  // namespace cleave::testing
