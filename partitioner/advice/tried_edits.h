// TriedEdits: the predicted effects of the edits of the program that diagnostics propose: a kernel for an operation, a pin removed, work
// hoisted out of a loop, host work overlapped. try_edits() finds them by planning or simulating each edited program (trials.h); the
// diagnostics read them and try nothing.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/base/diagnostic.h"
#include "partitioner/advice/trials.h"
#include "partitioner/apply/invariant_work.h"
#include "partitioner/plan.h"

namespace cleave::planner {

struct TriedEdits {
  /// The effects of the cures of one round trip.
  struct RoundTripCure {
    std::size_t freed_nodes = 0;                 ///< the nodes that one edit frees together with the blamed one
    std::optional<double> saved_by_freeing;      ///< with a kernel, or without the pin
    std::optional<double> saved_by_overlapping;  ///< if the host function ran while the accelerator has other work
  };
  struct Hoisting {
    InvariantWork work;
    double saved_seconds = 0;
  };
  /// The operations that one `place` of the user pins; all are of one line, in program order.
  struct Unpinning {
    Side side = Side::none;
    std::vector<NodeId> nodes;
    double saved_seconds = 0;
  };

  std::vector<RoundTripCure> round_trips;  ///< by round trip of the plan
  std::vector<Hoisting> hoistings;         ///< those worth saying
  std::vector<Unpinning> unpinnings;       ///< those worth a warning
  std::map<NodeId, double> kernels;        ///< the saving of an accelerator kernel for this operation alone
};

/// The severity of a round trip's diagnostic. Empty if it is not reported.
std::optional<Severity> severity_of(const RoundTrip& trip, const DiagnosticOptions& options);

/// An edit is advised if it saves at least this fraction of the predicted time of a run.
inline constexpr double kWorthSaying = 0.02;
/// Whether waiting, or the cost of a pin, takes at least a tenth of a run and a millisecond, and so deserves a warning of its own.
[[nodiscard]] bool worth_warning(const Plan& plan, double seconds);
/// Whether an operation of the vocabulary is on the host for the one reason that the accelerator has no kernel for it.
[[nodiscard]] bool lacks_kernel(const Plan& plan, NodeId node);

/// Tries the edits that diagnostics of the enabled kinds propose, the costliest round trips first, within the budget of `trials`.
TriedEdits try_edits(const Plan& plan, Trials& trials, const DiagnosticOptions& options);

}  // namespace cleave::planner
