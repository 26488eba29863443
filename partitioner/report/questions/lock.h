// The lock of a plan: a small text file with one line for each placed operation and each transfer, sorted by statement path. It contains no
// numbers that a machine file or a new line in the program would change. `cleave check --lock` compares a plan with it.
#pragma once

#include <string>
#include <string_view>

#include "partitioner/plan.h"

namespace cleave::planner {

/// The text of the lock file. Its last line marks the end, so that a truncated file is detected.
std::string lock_text(const Plan& plan);

/// The differences between the plan and the lock in `text`, as errors at the user's lines; `file` is the name of the lock file. Returns an
/// Error (file) with the line number if the text is no valid lock.
Result<Diagnostics> differences_from_lock(const Plan& plan, std::string_view text, const std::string& file);

}  // namespace cleave::planner
