// Transfers: every value that moves, where, how often and at what price. Computed once; explain, dot, diagnostics and split all read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

enum class TransferKind : std::uint8_t { argument, result, send };
std::string_view to_string(TransferKind kind);

struct Transfer {
  ValueId value;
  DeviceId from, to;
  RegionId region;  ///< where it stands: executed once for each execution of that region
  TransferKind kind = TransferKind::send;
  std::int64_t bytes = 0;    ///< one execution
  double frequency = 1;      ///< executions a run
  double seconds = 0;        ///< predicted for a whole run
  bool is_explicit = false;  ///< marked as meant by `to_host` or `to_accelerator` at every reading
  int round_trip = -1;       ///< index into the round trips, or -1
  SourceLocation location;   ///< of the value's producer
};

struct Transfers {
  std::vector<Transfer> items;  ///< ordered by position in the program
};

Transfers make_transfers(const Graph& graph, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
