// `explain --node`: why a node is where it is, its cost on each side, what would have to change for it to move, its readers and its
// transfers. The answers are found in advice/advise.h; this puts the answers into words.
#pragma once

#include <string>
#include <vector>

#include "partitioner/plan.h"

namespace cleave::planner {

/// Finds the nodes that `what` names: a line, a line and column (`12`, `12:5`), a name or a statement path. If there is none, an Error
/// (unknown) with the nearest ones.
Result<std::vector<NodeId>> find_nodes(const Plan& plan, const std::string& what);

/// The reports of these nodes one after the other. Errors are those of the solver.
Result<std::string> node_text(const Plan& plan, const std::vector<NodeId>& nodes);
/// {cleave, model, nodes: [...]}.
Result<std::string> node_json(const Plan& plan, const std::vector<NodeId>& nodes);

}  // namespace cleave::planner
