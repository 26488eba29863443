// The text form of a Graph: `.graph` files and `cleave print`. Versioned; Printing a graph and parsing that gives the same graph,
// locations included.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// `print(graph, {.locations = false})`
struct PrintOptions {
  bool locations = true;                       ///< false: for golden files and people; such text still parses
  std::function<std::string(NodeId)> comment;  ///< a comment behind each node; null: none
};

std::string print(const Graph& graph, const PrintOptions& options = {});
/// Reads the text form; `file` names it in errors, which carry line and column. Verifies the graph. No input crashes it. Source files that
/// the text names are shown only if they are in the folder of `file` or in one of `source_roots`.
Result<Graph> parse_graph(std::string_view text, const std::string& file, const std::vector<std::string>& source_roots = {});
/// Graph::load() with further folders whose files may be shown as source.
Result<Graph> load_graph(const std::string& path, const std::vector<std::string>& source_roots);

}  // namespace cleave
