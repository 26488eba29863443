// Account: what the time of a predicted run goes to, by its critical path, what it waits for most, and what each cure would be worth. The
// cures are tried: the run is simulated again with other times for the pieces of work that a cure concerns, at the same placement. Numbers
// of workers are tried by planning anew (partitioner/worker_cures.h), and enough memory was planned with before the plan was made to fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/round_trips.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

class HostFlow;

/// What most of a run's critical path is. The JSON spellings are `input-bound`, `output-bound` and so on.
enum class Bottleneck : std::uint8_t {
  input,       ///< host work that accelerator work waits for, and that needs nothing of the accelerator's
  output,      ///< host work with what the accelerator made, and that no accelerator work needs: a full channel
  transfer,    ///< copies, those of round trips aside
  round_trip,  ///< host work, decisions and copies of round trips
  launch,      ///< starting kernels
  host,        ///< other host work
  compute,     ///< the accelerator's work
};
std::string_view to_string(Bottleneck kind);

/// Parts of the critical path in seconds. They add up to the predicted time of a run.
struct AccountShares {
  double producer = 0;             ///< host work that is needed by accelerator work, and needs none of it
  double host_to_accelerator = 0;  ///< copies
  double accelerator = 0;          ///< work, without the starts of its kernels
  double accelerator_to_host = 0;  ///< copies
  double launch = 0;               ///< starts of kernels
  double consumer = 0;             ///< host work with the accelerator's values that no accelerator work needs
  double control = 0;              ///< decisions of loops and branches
  double host = 0;                 ///< all other host work, that of round trips included
};

/// What could be changed, and how long a run is predicted to take then.
struct Cure {
  enum class Kind : std::uint8_t {
    workers,    ///< `--workers` `number`: pure host functions are called on so many threads (partitioner/worker_cures.h)
    threads,    ///< the host function spreads its work over `number` threads of its own
    faster,     ///< the work takes a `number`-th of its time
    ahead,      ///< the work is done before the run
    seldom,     ///< every `number`-th trip of the loop only
    stays,      ///< the value is on its destination from run to run
    smaller,    ///< the value has a `number`-th of its bytes
    no_copy,    ///< without the transfer
    no_trip,    ///< without the round trip
    more_work,  ///< `number` times as much work in each kernel, and as many fewer kernels
    memory,     ///< the accelerator has enough memory for the plan that costs least
  };
  Kind kind = Kind::faster;
  double number = 0;
  double seconds = 0;  ///< predicted for a run
};

/// A cure is told if a run takes less than this part of its time with it.
inline constexpr double kCureHelps = 0.99;

struct Account {
  Bottleneck kind = Bottleneck::host;
  double seconds = 0;       ///< predicted for a run
  double kind_seconds = 0;  ///< the part of `seconds` that `kind` names
  AccountShares shares;
  NodeId blamed;              ///< the operation or decision that most of `kind_seconds` goes to; of a transfer, who makes its value
  double blamed_seconds = 0;  ///< its part of `kind_seconds`
  std::optional<std::size_t> transfer;    ///< transfer: which, an index into the Transfers
  std::optional<std::size_t> round_trip;  ///< round_trip: which
  double busy_seconds = 0;                ///< the accelerator works, starts of kernels included
  std::vector<Cure> cures;
  /// The nodes that make up `shares.producer` and `shares.consumer`, with their seconds; the longest first.
  std::vector<std::pair<NodeId, double>> producers, consumers;
};

/// How long a run is predicted to take if the host work and the copies of round trip `index` took no time.
double seconds_without(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                       const std::vector<RoundTrip>& round_trips, std::size_t index);

/// Marks the round trips that decisions start and that other work hides: a run is over as soon without them. Of many, the costliest are
/// tried.
void find_hidden(const Program& program, const CostedProblem& costed, const Transfers& transfers, std::vector<RoundTrip>& round_trips);

/// `flow` is that of the program's placement and of `transfers`.
Account find_account(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                     const std::vector<RoundTrip>& round_trips, const HostFlow& flow);

}  // namespace cleave::planner
