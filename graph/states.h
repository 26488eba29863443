// States: values that a program keeps from one run to the next. A state is an input or parameter with the attribute `state`, the name of
// the output that is its next value. It stays on its device between runs; a run does not return that output: it is read by the name of the
// input.
#pragma once

#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// Makes the input or parameter `input` a state: each run starts with the value of output `output` of the previous run, the first run with
/// the caller's value or the model's default. An Error (unknown) if the graph lacks one of the names; an Error (user) if the types differ,
/// the size of the output depends on data, or one of the two already belongs to a state.
Status keep_state(Graph& graph, std::string_view input, std::string_view output);

struct GraphState {
  NodeId leaf;             ///< the input or parameter
  ValueId value;           ///< the leaf's value
  ValueId next;            ///< its value in the next run
  std::size_t output = 0;  ///< index into the graph's outputs
  /// The state is kept on the side (or both) that computes `next`, so that it costs no transfer. If false, `next` is another input, a
  /// parameter or a constant, and the state is kept on the host, which has that value anyway.
  bool follows = false;
  bool hidden = false;  ///< a count that the program keeps for itself (Tracer::count_entries); saved and loaded, but no result of a run

  /// No run changes the state, so it is kept wherever it is read.
  [[nodiscard]] bool fixed() const { return next == value; }
};

/// The states of a graph, in the order of their inputs.
std::vector<GraphState> states_of(const Graph& graph);

/// Whether an input or parameter is a state.
[[nodiscard]] inline bool is_state(const Node& leaf) {
  return leaf.attributes.find("state") != nullptr;
}

/// Per output: whether it is the next value of a state; `followed_outputs`: of a state with `follows`.
std::vector<bool> state_outputs(const Graph& graph);
std::vector<bool> followed_outputs(const Graph& graph);

}  // namespace cleave
