// differentiate: Graph to Graph. Replaces each call `gradient(loss, w, …)` by the operations that compute it (reverse-mode differentiation
// from the rules in the records, graph/trace/gradient_call.h), and each `stop_gradient(x)` by x. Nothing behind it meets either.
//
// The backward operations stand where the call stood. Those of a loop are a loop that runs the trips of the forward loop in reverse order;
// those of a branch are a branch on the same condition. Calls are replaced in program order, so that a gradient of a gradient is the same
// transformation again. Each backward operation has the location of the forward operation that it was made for, in a scope `gradient` at
// the call.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Whether the graph has a call of `gradient` or `stop_gradient`.
bool has_gradient_calls(const Graph& graph);

/// Mistakes (the loss does not depend on an asked value, an operation on the way has no gradient, a loop whose number of trips has no
/// bound) become errors in the graph's diagnostics. A graph without such calls is returned as it is.
Graph differentiate(Graph graph);

}  // namespace cleave
