#include "graph/passes/simplify.h"

#include "graph/passes/pass_table.h"

namespace cleave {

Graph simplify(const Graph& graph) {
  return run_passes(graph);
}

}  // namespace cleave
