// The placed operations and transfers of a plan, keyed by statement path. Locks store them, and they serve to compare two plans of a
// program.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/statement_paths.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// "accelerator:0", "host", "host,accelerator:0".
using Sides = std::string;

struct PlacedThings {
  struct Move {
    std::string path;    ///< of the value: its producer's path, followed by `:1` for a second result
    std::string to;      ///< a device
    std::string within;  ///< the loop or arm whose executions transfer it, or "program"
    friend auto operator<=>(const Move&, const Move&) = default;
  };
  std::shared_ptr<const StatementPaths> statements;
  IdVector<NodeId, std::string> paths;       ///< of all nodes
  std::map<std::string, NodeId> operations;  ///< by path
  std::vector<Move> moves;                   ///< one entry for each transfer
};

PlacedThings placed_things(const Plan& plan);
Sides sides_of(const Plan& plan, NodeId node);
/// For people: "on the host", "on the accelerator", "on both sides".
std::string side_phrase(std::string_view sides);

}  // namespace cleave::planner
