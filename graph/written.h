// Names of operations in messages. written() formats one as the user may have written it: `inertia >= enough` for the op `greater_equal`.
// It reads no source text: names and literals come from the graph.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cleave {

/// The operator of an op with one or two operands (`*` of `multiply`), or nothing if it is called by name.
[[nodiscard]] std::string_view operator_of(std::string_view op);
/// The op of a binary operator, or nothing if there is no such operator.
[[nodiscard]] std::string_view op_of_operator(std::string_view symbol);

/// `raw / 255`, `-x`; an operand that is neither named nor a number becomes `…`. An op without an operator is given by its (or its
/// function's) name; if no operand has a name, the bare operator.
[[nodiscard]] std::string written(const Graph& graph, NodeId node);

/// The name of a node in a report: a host function's name, an op's name, or else the user's name of the value.
[[nodiscard]] std::string culprit_name(const Graph& graph, NodeId node);

}  // namespace cleave
