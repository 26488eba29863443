// The lock of a plan: a small text that says where everything is placed and what moves, a line a thing, by statement paths and in their
// order, without numbers that a machine file or a new line in the program would change. `cleave check --lock` compares a plan with it.
#pragma once

#include <string>
#include <string_view>

#include "partitioner/compile.h"

namespace cleave::planner {

/// For a file; ends with a line of its own, so that half a file is known for one.
std::string lock_text(const Plan& plan);

/// What the plan has otherwise than the lock in `text`, as errors at the user's lines; `file` is where the text was read. An Error (file)
/// with the line where the text is no lock.
Result<Diagnostics> differences_from_lock(const Plan& plan, std::string_view text, const std::string& file);

}  // namespace cleave::planner
