// Round trips: data that goes from the accelerator through host computation back to the accelerator. Host operations belong to one round
// trip if one reads a result of another; decisions and the order of effects can lead back to the accelerator, but do not join operations.
// Host work that a decision of the accelerator starts is a round trip too, because the host cannot begin it before it knows the decision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

class HostFlow;

/// Why accelerator work waits for a round trip: for a value that is sent back, for a decision (whether a loop continues, which arm is
/// taken), or because a host function whose result it needs comes after an effect. If several apply, the first one; for host work that a
/// decision of the accelerator starts, `control`. The JSON spellings are `data`, `control`, `effect`.
enum class Via : std::uint8_t { data, control, effect };
std::string_view to_string(Via via);

/// A place where the user can write to_host(): around `value` as an operand of host node `reader`.
struct Reading {
  NodeId reader;
  ValueId value;
  friend auto operator<=>(const Reading&, const Reading&) = default;
};

struct RoundTrip {
  std::vector<NodeId> through;    ///< the host nodes, in program order
  std::vector<std::size_t> out;   ///< transfers to the host that these nodes read or that start them, as indices into Transfers
  std::vector<std::size_t> back;  ///< transfers to the accelerator; none if the way back is control or an effect
  std::vector<NodeId> controls;   ///< control nodes whose predicate or count these nodes compute
  std::vector<NodeId> starts;     ///< control nodes decided by the accelerator whose decisions start the work; none if it reads values
  Via via = Via::data;
  RegionId region;               ///< each execution of this region is one round trip
  double frequency = 0;          ///< executions in a run
  double out_bytes = 0;          ///< bytes to the host in a run
  double back_bytes = 0;         ///< bytes to the accelerator in a run; a share if a transfer also carries values made elsewhere
  std::int64_t bytes = 0;        ///< `out_bytes` and `back_bytes` together
  double seconds = 0;            ///< predicted time in a run
  Cause cause = Cause::cheaper;  ///< the reason why `blamed` is on the host
  /// The node whose source line is reported. It reads accelerator values, directly or through operations that are on the host only because
  /// that is cheaper, or it is started by the accelerator.
  NodeId blamed;
  NodeId delays;  ///< if `via` is effect: the later host function whose result the accelerator needs
  /// Operands to mark with to_host(): if all are marked, the round trip counts as intended. Empty if marks would not help.
  std::vector<Reading> marks;
  bool meant = false;   ///< the user marked all transfers out, or all transfers back, as intended
  std::string allowed;  ///< the reason of an `allow`, or empty
  bool hidden = false;  ///< a decision starts it, and other work overlaps it fully, so the accelerator does not wait (find_hidden)

  [[nodiscard]] bool caused_by_user() const { return cause != Cause::cheaper && cause != Cause::none; }
  [[nodiscard]] bool warned() const { return caused_by_user() && !meant && !hidden && allowed.empty(); }
};

/// Whether an operation only gives elements another place or shape, or computes one number, as a place among them. Such operations that
/// are on the host for want of memory keep values for the accelerator; that is told as a matter of memory, and is no round trip.
bool only_keeps(const Graph& graph, NodeId id);

/// Finds the round trips, sorted by the source location of `blamed`, and sets `round_trip` in the transfers that belong to them. `flow`
/// must be made from the same placement and transfers.
std::vector<RoundTrip> find_round_trips(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers,
                                        const HostFlow& flow);

}  // namespace cleave::planner
