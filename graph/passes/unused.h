// find_unused: finds inputs, parameters and statements that nothing reads. It must run on the graph as traced, since passes remove such
// nodes.
#pragma once

#include <span>

#include "graph/base/diagnostic.h"
#include "graph/graph.h"

namespace cleave {

/// A warning for each cause: a program that gives no output and has no effect; else each input, parameter and statement that nothing reads.
/// Values that only feed an unread statement are not reported, nor values of a line from which another call reads one (a function's second
/// result, the last trip of an unrolled loop). `also_read`: values that count as read, such as those whose shape the program queried.
/// Sorted by source position.
Diagnostics find_unused(const Graph& graph, std::span<const ValueId> also_read = {});

}  // namespace cleave
