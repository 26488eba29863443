// The text of a graph's diagnostics as shown without colors.
#pragma once

#include <string>

#include "graph/base/diagnostic_text.h"
#include "graph/graph.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Omits the quoted source lines.
inline std::string text_of_diagnostics(const Graph& graph) {
  return to_text(graph.diagnostics, {.color = false, .source = false});
}

}  // namespace cleave::testing
