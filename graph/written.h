// An operation as the user may have written it, for messages: `inertia >= enough` where the op is `greater_equal`. Knows no source text:
// names and literals come from the graph.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cleave {

/// The operator of an op with one or two operands (`*` of `multiply`), or nothing if it is called by name.
[[nodiscard]] std::string_view operator_of(std::string_view op);
/// The op of a binary operator, or nothing if there is no such operator.
[[nodiscard]] std::string_view op_of_operator(std::string_view symbol);

/// `raw / 255`, `-x`; what has neither a name nor is a number stands as `…`. A function's or op's name for what is no operator, and the
/// bare operator where no operand has a name.
[[nodiscard]] std::string written(const Graph& graph, NodeId node);

}  // namespace cleave
