// keep_constants(): what the host's kernels of a program would derive from constants in their first run, such as packed weights, derived
// now. Opens no device and calls no function of the user.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/runtime.h"
#include "graph/shared_constants.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Returns the kernels; `constants` has what they derived for as long as they live. `threads`: as in ExecutorOptions.
std::vector<std::unique_ptr<HostKernel>> keep_constants(const Program& program, bool fuses, int threads, SharedConstants& constants);

}  // namespace cleave::runtime
