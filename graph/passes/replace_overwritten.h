// replace-overwritten: replaces the initial value of a carried value by zeros if no iteration reads it and it cannot be the final value.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Applies to a `for` loop with at least one iteration that assigns a name without reading its previous value. The computation of the old
/// value then becomes dead (drop_dead.h), and no transfer brings it to the loop. Literals stay.
Graph replace_overwritten(Graph graph);

}  // namespace cleave
