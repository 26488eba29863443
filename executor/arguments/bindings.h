// What a run needs from outside the graph: the arrays of inputs and parameters, and callable host functions. Shared by the reference and
// the executor, so that both start from the same bits.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "executor/arguments/kept_leaves.h"
#include "executor/arguments/run_options.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Whether the model itself says what the input or parameter node begins with.
[[nodiscard]] bool has_default(const Node& leaf);

/// The array of one input or parameter node: given in `options`, from its `file`, its `value`, or drawn from its distribution.
/// An Error at the node's line if there is none, or if its type is another.
Result<Array> bind_leaf(const Graph& graph, NodeId node, const RunOptions& options);

/// The arrays of all inputs and parameters, by node. `kept`: from earlier runs, and for later ones; null: nothing is. `bound`: what needs
/// no array; null: everything does.
Result<std::map<NodeId, Array>> bind_leaves(const Graph& graph, const RunOptions& options, KeptLeaves* kept = nullptr,
                                            const std::set<NodeId>* bound = nullptr);

/// Attributes of nodes that call a function from a shared library, with the function bound. Loads the libraries.
using BoundAttributes = std::map<NodeId, Attributes>;
/// Those of one node.
[[nodiscard]] inline const Attributes& attributes_of(const Graph& graph, const BoundAttributes& bound, NodeId node) {
  const auto found = bound.find(node);
  return found == bound.end() ? graph.nodes[node].attributes : found->second;
}
Result<BoundAttributes> load_host_functions(const Graph& graph, const std::vector<std::string>& library_paths);

/// The trips of a `for` with a runtime count, read from its scalar at `count`: none if negative, an Error beyond what the counter holds.
Result<std::int64_t> checked_trips(const Graph& graph, NodeId loop, const std::byte* count);
/// What `value` decides of the loop or branch `control`: a predicate's 0 or 1, or the trips.
Result<std::int64_t> decision_of(const Graph& graph, NodeId control, ValueId value, const std::byte* data);

/// `error` as the error of `node`: named, and at its line if it has no place of its own.
Error at_node(const Graph& graph, NodeId node, Error error);

/// What `print` is given when the caller gave nothing: lines on standard output.
std::function<void(std::string_view)> print_or_stdout(const RunOptions& options);

}  // namespace cleave::runtime
