// What is said to the user about a plan: round trips, implicit copies, fallbacks, limits, transfer-bound loops (docs/diagnostics.md).
// Reads the plan's structures; decides nothing about the program.
#pragma once

#include "graph/base/diagnostic.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/trials.h"
#include "partitioner/compile.h"

namespace cleave::planner {

/// In source order. Kinds that are off are left out; what the user allowed is in the list with severity `allowed`.
Diagnostics diagnose(const Plan& plan, const Schedule& schedule, Trials& trials, const DiagnosticOptions& options);

/// Round trips alone (round_trip_diagnostics.cpp).
void diagnose_round_trips(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::planner
