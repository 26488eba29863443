// Round trips: accelerator -> host computation -> accelerator, found on the placed graph by its data and control edges.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct RoundTrip {
  std::vector<NodeId> through;    ///< the host nodes, in program order
  std::vector<std::size_t> out;   ///< transfers to the host, indices into Transfers
  std::vector<std::size_t> back;  ///< transfers to the accelerator; may be empty where the way back is control
  std::vector<NodeId> controls;   ///< control nodes that its predicates decide
  bool via_control = false;       ///< the accelerator waits for a decision (does the loop go on, which arm is taken), not for a value
  double frequency = 0;           ///< how often a run
  std::int64_t bytes = 0;         ///< out and back, a run
  double seconds = 0;             ///< predicted, a run
  Cause cause = Cause::cheaper;   ///< of `blamed`
  NodeId blamed;                  ///< the node whose line is named
  bool meant = false;             ///< the user marked all transfers out, or all transfers back, as meant
  std::string allowed;            ///< reason of an `allow`, or empty

  [[nodiscard]] bool caused_by_user() const { return cause != Cause::cheaper && cause != Cause::none; }
  [[nodiscard]] bool warned() const { return caused_by_user() && !meant && allowed.empty(); }
};

/// Marks `round_trip` in the transfers it lists. In source order of the blamed node.
std::vector<RoundTrip> find_round_trips(const Graph& graph, const CostedProblem& costed, const Placement& placement, Transfers& transfers);

}  // namespace cleave::planner
