// The value whose bytes a value shares: operations that only make an alias, or change the type, are skipped.
#pragma once

#include "graph/graph.h"
#include "graph/op.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline ValueId whose_bytes(const Graph& graph, ValueId value) {
  for (;;) {
    const Node& node = graph.producer(value);
    if (node.kind != NodeKind::operation || !node.op->keeps_bytes) return value;
    value = node.inputs[0];
  }
}

}  // namespace cleave::testing
