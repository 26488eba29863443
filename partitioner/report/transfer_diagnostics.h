// The diagnostics of a plan: round trips, implicit copies, fallbacks, limits, transfer-bound loops (docs/diagnostics.md). diagnose() reads
// the plan and makes no decision about the program.
#pragma once

#include <set>
#include <span>

#include "graph/base/diagnostic.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/trials.h"
#include "partitioner/compile.h"

namespace cleave::planner {

/// All diagnostics, in source order. Edits of the program that resolve some are added to `advice`. Diagnostics of disabled kinds are left
/// out; those that the user allowed have severity `allowed`.
Diagnostics diagnose(const Plan& plan, const Schedule& schedule, Trials& trials, const DiagnosticOptions& options,
                     std::vector<Advice>& advice);

/// An edit is advised if it saves at least this fraction of the predicted time of a run.
constexpr double kWorthSaying = 0.02;

/// Whether waiting, or the cost of a pin, takes at least a tenth of a run and a millisecond, and so deserves a warning of its own.
[[nodiscard]] bool worth_warning(const Plan& plan, double seconds);

/// Sets severity `allowed` if one of `nodes` allows the diagnostic's kind. Entries of `nodes` may be none.
void allow_as_marked(Diagnostic& diagnostic, const Graph& graph, std::span<const NodeId> nodes);

/// Adds a diagnostic and its advice. If the user allowed the diagnostic, its advice is dropped.
void add_advised(Diagnostic diagnostic, std::vector<Advice> its, Diagnostics& diagnostics, std::vector<Advice>& advice);

/// Whether a diagnostic of this kind was already reported at this line.
bool said_at(const Diagnostics& diagnostics, DiagnosticKind kind, const SourceLocation& location);

/// Diagnostics of round trips (round_trip_diagnostics.cpp).
void diagnose_round_trips(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics,
                          std::vector<Advice>& advice);
/// Diagnostics of host work that loops repeat (invariant_diagnostics.cpp).
void diagnose_invariant_work(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics,
                             std::vector<Advice>& advice);

/// Diagnostics of costly pins (pin_diagnostics.cpp). Returns the nodes that these pin.
std::set<NodeId> diagnose_pins(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics,
                               std::vector<Advice>& advice);
/// Diagnostics of host work and kernel launches that the accelerator waits for without a round trip (bottleneck_diagnostics.cpp). `costly`
/// are the nodes whose cost another diagnostic reports.
void diagnose_bottlenecks(const Plan& plan, const std::set<NodeId>& costly, const DiagnosticOptions& options, Diagnostics& diagnostics);

/// Diagnostics of operations that left the accelerator for lack of memory (memory_diagnostics.cpp).
void diagnose_memory(const Plan& plan, const DiagnosticOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::planner
