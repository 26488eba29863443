// Bindings: everything that a run needs from outside the graph: the arrays of inputs and parameters, and callable host functions. Shared by
// the reference executor and the executor, so that both start from the same bits.
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

/// Whether the model has initial data for the input or parameter node.
[[nodiscard]] bool has_default(const Node& leaf);

/// The array of one input or parameter node: given in `options`, read from its `file`, filled with its `value`, or drawn from its
/// distribution. An Error at the node's line if there is none, or if its type differs from the node's.
Result<Array> bind_leaf(const Graph& graph, NodeId node, const RunOptions& options);

/// The arrays of all inputs and parameters, by node. `kept`: the arrays kept from earlier runs, extended for later ones; null: none.
/// `bound`: the nodes that need no array; null: every node needs one.
Result<std::map<NodeId, Array>> bind_leaves(const Graph& graph, const RunOptions& options, KeptLeaves* kept = nullptr,
                                            const std::set<NodeId>* bound = nullptr);

/// Attributes of nodes that call a function from a shared library, with the function bound. The libraries are loaded for it.
using BoundAttributes = std::map<NodeId, Attributes>;
/// The attributes of one node.
[[nodiscard]] inline const Attributes& attributes_of(const Graph& graph, const BoundAttributes& bound, NodeId node) {
  const auto found = bound.find(node);
  return found == bound.end() ? graph.nodes[node].attributes : found->second;
}
Result<BoundAttributes> load_host_functions(const Graph& graph, const std::vector<std::string>& library_paths);

/// The trip count of a `for` with a runtime count, read from its scalar at `count`: zero if negative, an Error if the counter cannot hold
/// it, or if it is above the loop's `at_most` and no `until` may end the loop before.
Result<std::int64_t> checked_trips(const Graph& graph, NodeId loop, const std::byte* count);
/// An Error if the loop's `at_most` allows no trip after `made` trips.
Status check_further_trip(const Graph& graph, NodeId loop, std::int64_t made);
/// The decision by `value` for the loop or branch `control`: a predicate's 0 or 1, or the trip count.
Result<std::int64_t> decision_of(const Graph& graph, NodeId control, ValueId value, const std::byte* data);

/// `error` as an error of `node`: with the node's name, and at its line if the error has no location of its own.
Error at_node(const Graph& graph, NodeId node, Error error);

/// The function that receives the lines of `print`: the caller's, or one that writes to standard output.
std::function<void(std::string_view)> print_or_stdout(const RunOptions& options);

}  // namespace cleave::runtime
