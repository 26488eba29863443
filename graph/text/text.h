// The text form of a Graph: `.graph` files and `cleave print`. Versioned; Printing a graph and parsing that gives the same graph,
// locations included.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// `print(graph, {.locations = false})`
struct PrintOptions {
  bool locations = true;                       ///< false: for golden files and people; such text still parses
  std::function<std::string(NodeId)> comment;  ///< a comment behind each node; null: none
  /// The number of an array that is stored beside the text: the text has the number only. None: the text has the values. Null: all arrays
  /// are in the text.
  std::function<std::optional<std::size_t>(const Array&)> stored = {};
};
/// The array with a number, for a text that PrintOptions::stored was used for; null: there is none.
using StoredArrays = std::function<const Array*(std::size_t)>;

std::string print(const Graph& graph, const PrintOptions& options = {});
/// Reads the text form; `file` names it in errors, which carry line and column. Verifies the graph. No input crashes it. Source files that
/// the text names are shown only if they are in the folder of `file` or in one of `source_roots`.
Result<Graph> parse_graph(std::string_view text, const std::string& file, const std::vector<std::string>& source_roots = {},
                          const StoredArrays& stored = nullptr);
/// Graph::load() with further folders whose files may be shown as source.
Result<Graph> load_graph(const std::string& path, const std::vector<std::string>& source_roots);

/// The graph with the paths of its data files and libraries relative to the folder of `file`, so that all may move together.
Graph with_paths_beside(Graph graph, const std::string& file);
/// The inverse: the paths are relative to the working directory again.
Graph with_paths_found(Graph graph, const std::string& file);

}  // namespace cleave
