// `explain --node`: of one node why it is where it is, what each side costs, what would have to change for it to move, who reads it and
// which transfers touch it. The solver answers; here it is put into words.
#pragma once

#include <string>
#include <vector>

#include "partitioner/compile.h"

namespace cleave::planner {

/// The nodes that `what` means: a line, a line and column (`12`, `12:5`), a name or a statement path. An Error (unknown) with what is near.
Result<std::vector<NodeId>> find_nodes(const Plan& plan, const std::string& what);

/// One behind the other. An Error as the solver's.
Result<std::string> node_text(const Plan& plan, const std::vector<NodeId>& nodes);
/// {cleave, model, nodes: [...]}.
Result<std::string> node_json(const Plan& plan, const std::vector<NodeId>& nodes);

}  // namespace cleave::planner
