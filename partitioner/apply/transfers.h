// Transfers: all values that move between devices, with the place, frequency and cost of each. make_transfers() computes them once;
// explain, dot, diagnostics and split all read the same list.
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
  RegionId region;  ///< each execution of this region performs the transfer once
  TransferKind kind = TransferKind::send;
  std::int64_t bytes = 0;    ///< of one execution
  double frequency = 1;      ///< executions in a run
  double seconds = 0;        ///< predicted time in a whole run
  bool is_explicit = false;  ///< the user marked it as intended, with `to_host` or `to_accelerator` at every read
  int round_trip = -1;       ///< index into the round trips, or -1
  SourceLocation location;   ///< of the value's producer
};

struct Transfers {
  std::vector<Transfer> items;  ///< ordered by position in the program
};

Transfers make_transfers(const Graph& graph, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
