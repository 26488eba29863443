// Round trips: accelerator -> host computation -> accelerator. Host operations are one round trip where one computes with what another
// made; decisions and the order of effects lead back to the accelerator, but join nothing. Host work that a decision of the accelerator
// starts is a round trip too: the host cannot begin it before it knows the decision.
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

/// Why accelerator work waits: for a value that comes back, for a decision (does the loop go on, which arm is taken), or because a host
/// function whose result it needs comes after an effect. The first that holds; for host work that an accelerator's decision starts it is
/// control. The JSON spellings are `data`, `control`, `effect`.
enum class Via : std::uint8_t { data, control, effect };
std::string_view to_string(Via via);

/// Where the user can write to_host() round what a node of the host reads.
struct Reading {
  NodeId reader;
  ValueId value;
  friend auto operator<=>(const Reading&, const Reading&) = default;
};

struct RoundTrip {
  std::vector<NodeId> through;    ///< the host nodes, in program order
  std::vector<std::size_t> out;   ///< transfers to the host that they read, or that start them; indices into Transfers
  std::vector<std::size_t> back;  ///< transfers to the accelerator; none where the way back is control or an effect
  std::vector<NodeId> controls;   ///< control nodes that its predicates decide
  std::vector<NodeId> starts;     ///< control nodes that the accelerator decides, whose decisions start it; none: it reads values
  Via via = Via::data;
  RegionId region;               ///< one execution of it is one round trip
  double frequency = 0;          ///< how often a run
  double out_bytes = 0;          ///< a run
  double back_bytes = 0;         ///< its part, where a transfer brings what others made too
  std::int64_t bytes = 0;        ///< out and back, a run
  double seconds = 0;            ///< predicted, a run
  Cause cause = Cause::cheaper;  ///< why `blamed` is on the host
  /// Whose line is named: it reads what the accelerator made, itself or through what is as cheap there, or is started.
  NodeId blamed;
  NodeId delays;               ///< by an effect: the host function whose result the accelerator needs, and which comes after it
  std::vector<Reading> marks;  ///< marking all of these would say that it is meant; none: no marks would
  bool meant = false;          ///< the user marked all ways out, or all ways back, as meant
  std::string allowed;         ///< reason of an `allow`, or empty
  bool hidden = false;         ///< a decision starts it, and other work hides it: the accelerator does not wait (find_hidden)

  [[nodiscard]] bool caused_by_user() const { return cause != Cause::cheaper && cause != Cause::none; }
  [[nodiscard]] bool warned() const { return caused_by_user() && !meant && !hidden && allowed.empty(); }
};

/// Marks `round_trip` in the transfers it lists. In source order of the blamed node. `flow` is that of the same placement and transfers.
std::vector<RoundTrip> find_round_trips(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers,
                                        const HostFlow& flow);

}  // namespace cleave::planner
