// absorb-marks: replaces to_host() and to_accelerator(), which only mark a transfer as intended, by a property of the uses of their results
// (Node::meant), so that they affect neither placement nor order nor fusion.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// The same program without marks, except for marks of values that decide whether a loop continues: these stay in the loop.
Graph absorb_marks(Graph graph);

}  // namespace cleave
