// Account: how the time of a predicted run is spent along its critical path, and what the main bottleneck is. The predicted effects of
// cures are found in advice/.
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

/// The kind of work that takes the largest part of a run's critical path. The JSON spellings are `input-bound`, `output-bound` and so on.
enum class Bottleneck : std::uint8_t {
  input,       ///< host work that accelerator work waits for, and that needs no result of the accelerator
  output,      ///< host work on the accelerator's results that no accelerator work needs: the run waits for its end, or for a full channel
  transfer,    ///< copies, except those of round trips
  round_trip,  ///< host work, decisions and copies of round trips
  launch,      ///< kernel launches
  host,        ///< other host work
  compute,     ///< the accelerator's work
};
std::string_view to_string(Bottleneck kind);

/// The critical path by kind of work, in seconds. The parts add up to the predicted time of a run.
struct AccountShares {
  double producer = 0;             ///< host work that accelerator work needs and that needs no accelerator work itself
  double host_to_accelerator = 0;  ///< copies
  double accelerator = 0;          ///< the accelerator's work, without kernel launches
  double accelerator_to_host = 0;  ///< copies
  double launch = 0;               ///< kernel launches
  double consumer = 0;             ///< host work on the accelerator's values that no accelerator work needs
  double control = 0;              ///< decisions of loops and branches
  double host = 0;                 ///< all other host work, including that of round trips
};

/// A possible change, and the predicted time of a run with it.
struct Cure {
  enum class Kind : std::uint8_t {
    workers,    ///< `--workers number`: that many threads call pure host functions (advice/worker_cures.h)
    threads,    ///< the host function spreads its work over `number` threads of its own
    faster,     ///< the work takes 1/`number` of its time
    ahead,      ///< the work is done before the run
    seldom,     ///< the work is done only in every `number`-th iteration of the loop
    stays,      ///< the value stays on its destination from run to run
    smaller,    ///< the value has 1/`number` of its bytes
    no_copy,    ///< the transfer is removed
    no_trip,    ///< the round trip is removed
    more_work,  ///< each kernel does `number` times as much work, and there are as many times fewer kernels
    memory,     ///< the accelerator has enough memory for the cheapest plan
  };
  Kind kind = Kind::faster;
  double number = 0;
  double seconds = 0;  ///< predicted time of a run with this change
};

/// A cure is reported if it brings the predicted time of a run below this fraction.
inline constexpr double kCureHelps = 0.99;

struct Account {
  Bottleneck kind = Bottleneck::host;
  double seconds = 0;       ///< predicted time of a run
  double kind_seconds = 0;  ///< the part of `seconds` that is of kind `kind`
  AccountShares shares;
  /// The operation or decision that takes most of `kind_seconds`. For kind `transfer`, the producer of the transferred value.
  NodeId blamed;
  NodeId step;  ///< the last operation of the fused kernel of `blamed`, which has the kernel's time; none for transfers and round trips
  double blamed_seconds = 0;              ///< its part of `kind_seconds`
  std::optional<std::size_t> transfer;    ///< kind `transfer`: its index in the Transfers
  std::optional<std::size_t> round_trip;  ///< kind `round_trip`: its index
  double busy_seconds = 0;                ///< how long the accelerator is at work, including kernel launches
  std::vector<Cure> cures;                ///< filled in by plan(): those that help
  /// The nodes that make up `shares.producer` and `shares.consumer`, with their seconds, longest first.
  std::vector<std::pair<NodeId, double>> producers, consumers;
};

/// Builds the account of `program`, without cures. `flow` must be made from the program's placement and `transfers`.
Account find_account(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                     const std::vector<RoundTrip>& round_trips, const HostFlow& flow);

}  // namespace cleave::planner
