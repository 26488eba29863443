// What a program computes, or is given, and nothing reads. Looks at the program as it was traced: passes remove such nodes.
#pragma once

#include <span>

#include "graph/base/diagnostic.h"
#include "graph/graph.h"

namespace cleave {

/// A warning for each cause: a program that gives no output and has no effect; else each input, parameter and statement that nothing reads.
/// What only feeds an unread statement is not mentioned, nor what another call from the same line reads: a function's second result, the
/// last trip of an unrolled loop. `also_read`: values that count as read, such as those whose shape was asked for. In the order of the
/// source.
Diagnostics find_unused(const Graph& graph, std::span<const ValueId> also_read = {});

}  // namespace cleave
