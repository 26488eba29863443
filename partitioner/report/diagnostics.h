// The door to the planner's diagnostics (docs/diagnostics.md): what a reader said, what is wrong with a profile, and what a plan gives
// cause for. Nothing here decides, plans or simulates: the effects of edits were tried before (advice/tried_edits.h).
#pragma once

#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/fix.h"
#include "partitioner/advice/tried_edits.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// Diagnostics, and edits of the program that resolve some of them.
struct Diagnosis {
  Diagnostics diagnostics;
  std::vector<Advice> advice;
};

/// The diagnostics found while the model was read, filtered by the flags: by those of their kind, or by those that hold for all warnings.
Diagnosis said_while_reading(const Diagnostics& said, const DiagnosticOptions& options);

/// Warns if the profile has entries that do not belong to this program, or times that are to be doubted.
Diagnostics diagnose_profile(const Graph& graph, const Profile& profile, const DiagnosticOptions& options);

/// All diagnostics of a plan, in source order. Those of disabled kinds are left out; those that the user allowed have severity `allowed`.
Diagnosis diagnose(const Plan& plan, const Schedule& schedule, const TriedEdits& tried, const DiagnosticOptions& options);

}  // namespace cleave::planner
