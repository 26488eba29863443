// Which operations can be in a kernel with others at all.
#pragma once

#include "graph/graph.h"

namespace cleave::planner {

/// Whether it can be in a kernel of several on a side: pure, with one result, and not what certainly runs elsewhere (effects, host
/// functions, what moves a value to the other side).
bool is_fusible(const Graph& graph, NodeId id, DeviceId side);

/// Whether it computes nothing: who reads what it gives may read its one operand in another way instead.
bool only_moves(const Graph& graph, NodeId id);

}  // namespace cleave::planner
