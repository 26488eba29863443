// The parts of diagnose() (diagnostics.h), one for each kind or family of diagnostics, and what they share. Only they include this.
#pragma once

#include <set>
#include <span>

#include "partitioner/report/diagnostics.h"

namespace cleave::planner {

/// Sets severity `allowed` if one of `nodes` allows the diagnostic's kind. Entries of `nodes` may be none.
void allow_as_marked(Diagnostic& diagnostic, const Graph& graph, std::span<const NodeId> nodes);

/// Adds a diagnostic and its advice. If the user allowed the diagnostic, its advice is dropped.
void add_advised(Diagnostic diagnostic, std::vector<Advice> advice, Diagnosis& diagnosis);

/// Whether a diagnostic of this kind was already reported at this line.
bool said_at(const Diagnostics& diagnostics, DiagnosticKind kind, const SourceLocation& location);

/// Round trips (round_trip_diagnostics.cpp).
void diagnose_round_trips(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis);
/// Host work that loops repeat (invariant_diagnostics.cpp).
void diagnose_invariant_work(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis);
/// Operations that left the accelerator for lack of memory (memory_diagnostics.cpp).
void diagnose_memory(const Plan& plan, const DiagnosticOptions& options, Diagnosis& diagnosis);
/// Costly pins (pin_diagnostics.cpp).
void diagnose_pins(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis);
/// Host work and kernel launches that the accelerator waits for without a round trip (bottleneck_diagnostics.cpp). `costly` are the nodes
/// whose cost another diagnostic reports.
void diagnose_bottlenecks(const Plan& plan, const std::set<NodeId>& costly, const DiagnosticOptions& options, Diagnosis& diagnosis);
/// Transfers that are not marked as meant, operations without a kernel, limits, and waiting (transfer_diagnostics.cpp).
void diagnose_copies(const Plan& plan, const DiagnosticOptions& options, Diagnosis& diagnosis);
void diagnose_fallbacks(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis);
void diagnose_waiting(const Plan& plan, const Schedule& schedule, const DiagnosticOptions& options, Diagnosis& diagnosis);
void diagnose_limits(const Plan& plan, Diagnosis& diagnosis);

}  // namespace cleave::planner
