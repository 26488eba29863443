// What is said to the user about a plan: round trips, implicit copies, fallbacks, limits, transfer-bound loops (docs/diagnostics.md).
// Reads the plan's structures; decides nothing about the program.
#pragma once

#include "graph/base/diagnostic.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/compile.h"

namespace cleave::planner {

/// In source order. Kinds that are off are left out; what the user allowed is in the list with severity `allowed`.
Diagnostics diagnose(const Plan& plan, const Schedule& schedule, const DiagnosticOptions& options);

/// Round trips alone (round_trip_diagnostics.cpp).
void diagnose_round_trips(const Plan& plan, const DiagnosticOptions& options, Diagnostics& diagnostics);

/// What an accelerator kernel for a node would save in a run: the plan solved again with the node free to move. Nothing for a program too
/// large to solve once more for a message.
std::optional<double> saved_by_kernel(const Plan& plan, NodeId node);

}  // namespace cleave::planner
