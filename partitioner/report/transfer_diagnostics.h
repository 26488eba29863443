// What is said to the user about a plan: round trips, implicit copies, fallbacks, limits, transfer-bound loops (docs/diagnostics.md).
// Reads the plan's structures; decides nothing about the program.
#pragma once

#include <set>
#include <span>

#include "graph/base/diagnostic.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/trials.h"
#include "partitioner/compile.h"

namespace cleave::planner {

/// In source order. Kinds that are off are left out; what the user allowed is in the list with severity `allowed`.
Diagnostics diagnose(const Plan& plan, const Schedule& schedule, Trials& trials, const DiagnosticOptions& options);

constexpr double kWorthSaying = 0.02;  ///< of a run, predicted: what saves less is no advice

/// Whether waiting, or what a pin costs, is a tenth of a run and a millisecond at least: worth a warning by itself.
[[nodiscard]] bool worth_warning(const Plan& plan, double seconds);

/// Turns it into one that the user allowed, where one of `nodes` (none: no node) allows its kind.
void allow_as_marked(Diagnostic& diagnostic, const Graph& graph, std::span<const NodeId> nodes);

/// Whether something of this kind is said at this line already.
bool said_at(const Diagnostics& diagnostics, DiagnosticKind kind, const SourceLocation& location);

/// Round trips alone (round_trip_diagnostics.cpp).
void diagnose_round_trips(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics);
/// Host work that loops repeat (invariant_diagnostics.cpp).
void diagnose_invariant_work(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics);

/// Pins that cost (pin_diagnostics.cpp). Returns what these pin.
std::set<NodeId> diagnose_pins(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics);
/// Host work and kernel starts that the accelerator waits for without a round trip (bottleneck_diagnostics.cpp); `costly`: what another
/// message says it costs.
void diagnose_bottlenecks(const Plan& plan, const std::set<NodeId>& costly, const DiagnosticOptions& options, Diagnostics& diagnostics);

/// What left the accelerator for lack of memory (memory_diagnostics.cpp).
void diagnose_memory(const Plan& plan, const DiagnosticOptions& options, Diagnostics& diagnostics);

}  // namespace cleave::planner
