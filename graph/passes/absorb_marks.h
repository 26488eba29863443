// to_host() and to_accelerator() say that a transfer is meant, and nothing else: they become a property of the readings of their results
// (Node::meant), so that they change neither where something runs, nor when, nor in which kernel.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// The same program without marks, but those that decide whether a loop goes on: these stand in the loop.
Graph absorb_marks(Graph graph);

}  // namespace cleave
