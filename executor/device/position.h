// Position: where a side stands in the one sequential program order that underlies all step lists, loops unrolled. Two sides compare
// theirs to find out whose error comes first, and what may still happen before it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/id.h"

namespace cleave::runtime {

/// [order of a control step, trip and phase, order of a step inside, …, order]. Lexicographic; empty: before everything.
using Position = std::vector<std::int64_t>;

/// What a piece of work is done for: a node of the graph (none: the run itself), at a place of the program order.
struct Origin {
  NodeId node;
  Position position;
};

}  // namespace cleave::runtime
