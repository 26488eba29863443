// Plans for a range of sizes (`--dim batch=1..32`).
#pragma once

#include "tools/cli/session.h"

namespace cleave::cli {

/// Plans the model for the sizes of Options::dim_range, which must be set: 1, 2, 4, …, 32. Prints a row for each, and where the plan
/// changes between neighbors. Returns the exit code.
int plan_sizes(const Options& options);

}  // namespace cleave::cli
