// Cures (apply/account.h) found by simulation: find_cures() simulates the run of a plan again, with changed times for the affected pieces
// of work and the same placement.
#pragma once

#include <optional>
#include <vector>

#include "partitioner/apply/account.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/round_trips.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// The cures of the account's kind of bottleneck that help.
std::vector<Cure> find_cures(const Account& account, const Program& program, const CostedProblem& costed, const Transfers& transfers,
                             const std::vector<RoundTrip>& round_trips);

/// The cure of enough memory, if the operation to blame is on the host only for lack of memory, or if values are computed again or fetched
/// for it (`has_saved`).
std::optional<Cure> memory_cure(const Account& account, const CostedProblem& costed, const std::optional<MemoryShortage>& shortage,
                                bool has_saved);

/// The predicted time of a run if the host work and the copies of round trip `index` took no time.
double seconds_without(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                       const std::vector<RoundTrip>& round_trips, std::size_t index);

/// Sets `hidden` on round trips that the accelerator's decisions start and that overlap with other work: without them a run would take as
/// long. If there are many, only the costliest are tried.
void find_hidden(const Program& program, const CostedProblem& costed, const Transfers& transfers, std::vector<RoundTrip>& round_trips);

}  // namespace cleave::planner
