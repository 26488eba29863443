// States: what a program hands from run to run. A state is an input or parameter with the attribute `state`: the name of the output that is
// its next value. It stays on its device between runs; the output is not given back by a run, but read by the name of the input.
#pragma once

#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// Makes the input or parameter `input` a state: each run takes it as the output `output` of the run before left it; the first one takes
/// what it is given, or the model's default. An Error (unknown) where the graph has no such names, (user) where the two differ in type, or
/// one of them is part of a state already.
Status keep_state(Graph& graph, std::string_view input, std::string_view output);

struct GraphState {
  NodeId leaf;             ///< the input or parameter
  ValueId value;           ///< that it gives
  ValueId next;            ///< its value in the next run
  std::size_t output = 0;  ///< index into the graph's outputs
  /// Lies wherever `next` is made, on one side or on both, so that it costs no transfer. Otherwise on the host: where `next` is itself
  /// another input or parameter, or a constant, the host has it anyway.
  bool follows = false;

  /// No run changes it: it lies wherever it is read.
  [[nodiscard]] bool fixed() const { return next == value; }
};

/// The states of a graph, in the order of their inputs.
std::vector<GraphState> states_of(const Graph& graph);

/// Whether an input or parameter is a state.
[[nodiscard]] inline bool is_state(const Node& leaf) {
  return leaf.attributes.find("state") != nullptr;
}

/// By output: whether it is the next value of a state, and by `followed_outputs` of one that lies where it is made.
std::vector<bool> state_outputs(const Graph& graph);
std::vector<bool> followed_outputs(const Graph& graph);

}  // namespace cleave
