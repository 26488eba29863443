// Graph, the engine's first intermediate representation: typed values, and nodes in program order inside a tree of regions (loops,
// branches), with ordered effects and a source location on everything. A Tracer, a reader or a pass builds it; it never changes afterwards,
// and it knows no machine.
//
// How control flow is written (region 0 is the root; the placement problem has the same regions and carried nodes):
//
// clang-format off
//   kind        inputs                    regions and dependent nodes
//   for_loop    [count] if the count is   regions {body}; else the attribute `count` holds it. The body's `predicate`, if it has
//               a value of the program    one, is tested after each trip: true ends the loop (`until`)
//   while_loop  none                      regions {condition, body}; the body is a child of the condition region. The condition's
//                                         `predicate` is tested before each trip: false ends the loop
//   branch      [predicate]               regions {then, otherwise}
//   counter     none                      first node of a for body; its result is the number of the trip, an i32 scalar from 0
//   carried     [initial, yielded]        a loop-carried value; it stands in the for body or the while
//                                         condition region. Result 0 `inside` belongs to it, result 1 `after` to the region that
//                                         holds the loop (the initial value, if there were no trips)
//   merge       [from then,               directly behind its branch, in the same region: a value that both arms yield (a phi)
//                from otherwise]
// clang-format on
//
// Control nodes (for_loop, while_loop, branch) have no results. A node may read any earlier value of its own region or of an enclosing one;
// only a carried node reads a later value (its `yielded`, the back edge).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/base/diagnostic.h"
#include "graph/base/id.h"
#include "graph/base/source_location.h"
#include "graph/op.h"
#include "graph/pin.h"

namespace cleave {

enum class NodeKind : std::uint8_t { operation, input, parameter, constant, for_loop, while_loop, branch, counter, carried, merge };
std::string_view to_string(NodeKind kind);
[[nodiscard]] inline bool is_control(NodeKind kind) {
  return kind == NodeKind::for_loop || kind == NodeKind::while_loop || kind == NodeKind::branch;
}

/// A diagnostic kind that the user silenced for a node, and why.
struct Allowance {
  DiagnosticKind kind;
  std::string reason;
  friend bool operator==(const Allowance&, const Allowance&) = default;
};

/// A result of a node, which other nodes read.
struct Value {
  TensorType type;
  NodeId producer;
  std::uint32_t result = 0;  ///< which result of its producer
  RegionId region;           ///< the region that it belongs to
  std::string name;          ///< the user's name, or empty
};

/// What becomes of the results of an operation that a gradient reads: the planner's choice, or the user's pin `recompute`.
enum class Recompute : std::uint8_t {
  automatic,   ///< kept, unless the memory is too small
  always,      ///< computed again for the gradient
  never,       ///< kept
  repetition,  ///< the operation is such a second computation
};

/// An operation, an input, parameter or constant, or a piece of control flow (see above).
struct Node {
  NodeKind kind = NodeKind::operation;
  const OpDef* op = nullptr;  ///< operations only
  RegionId region;
  std::vector<ValueId> inputs;
  std::vector<ValueId> results;
  std::vector<RegionId> regions;  ///< control nodes only
  NodeId owner;                   ///< counter, carried, merge: the control node that they belong to
  Attributes attributes;          ///< constant: `value` (Array); for_loop: `count` (int64); input, parameter: see below
  SourceLocation location;
  Pin pin;                                     ///< of operations: the side on which they must run
  Recompute recompute = Recompute::automatic;  ///< of operations
  std::vector<Allowance> allowed;
  std::vector<std::uint8_t> meant;  ///< per input: whether the user marked its transfer as intended (absorb_marks.h); empty: none is marked
  double expected = 1;              ///< for, while: trip count; branch: probability of `then`
  bool assumed = false;             ///< `expected` is a default of cleave, not known or declared

  /// The user's function that an operation calls, or null.
  [[nodiscard]] const HostFunction* host_function() const;
  /// Whether every use of `value` by this node is marked as an intended transfer.
  [[nodiscard]] bool means(ValueId value) const;

  // input: optional `file` (text; default data). parameter: one of `value` (Array or double), `file` (text), `uniform`, `normal` (numbers,
  // two each), with `seed` (int64). Both take their name from their value.
};

enum class RegionKind : std::uint8_t { root, for_body, while_condition, while_body, then_arm, else_arm };
std::string_view to_string(RegionKind kind);  ///< "root", "for", "condition", "while", "then", "else" (the body of a while is "while")

/// A list of nodes that run together: the program itself, the body of a loop, an arm of a branch.
struct Region {
  RegionKind kind = RegionKind::root;
  RegionId parent;            ///< none for the root; a while body's parent is its condition region
  NodeId owner;               ///< the control node
  std::vector<NodeId> nodes;  ///< in program order
  ValueId predicate;          ///< while condition: true continues the loop; for body: true ends it after this trip (`until`), or none
};

/// A value that a run returns under a name. Where its size depends on data, a run returns its first elements along an axis only.
struct Output {
  /// How many elements along `axis` a run returns: as many as the output named `count`, an integer scalar, holds.
  struct Length {
    int axis = 0;
    std::string count;
    friend bool operator==(const Length&, const Length&) = default;
  };

  std::string name;
  ValueId value;
  SourceLocation location;
  std::vector<Length> lengths = {};  ///< at most one for each axis; empty: a run returns all elements
};

/// Limits that a model states for its plan and its predicted time; `check` and `run` enforce them.
struct Limits {
  std::optional<std::int64_t> round_trips, transfers, bytes_per_run;
  /// Largest allowed difference between measured and predicted time of a run, as a fraction of the predicted time: 0.2 for 20 %.
  std::optional<double> prediction_error = std::nullopt;
  SourceLocation location = {};
  SourceLocation prediction_error_location = {};  ///< unknown: `location`

  [[nodiscard]] bool any() const { return round_trips || transfers || bytes_per_run || prediction_error; }
};

/// A whole program. trace(), read_model() and load() return one, compile() takes one.
///
///   Graph graph = read_model("model.yaml");
///   if (!graph.ok()) std::fputs(to_text(graph.diagnostics).c_str(), stderr);
class Graph {
 public:
  Graph();  ///< an empty program: a root region and nothing in it

  std::string name;
  IdVector<NodeId, Node> nodes;
  IdVector<ValueId, Value> values;
  IdVector<RegionId, Region> regions;
  std::vector<Output> outputs;
  Limits limits;
  /// Mistakes found while tracing. A graph with errors is for reporting only; nothing else accepts it.
  Diagnostics diagnostics;

  static constexpr RegionId kRoot{std::size_t{0}};

  [[nodiscard]] bool ok() const { return !diagnostics.has_errors(); }
  [[nodiscard]] const Node& producer(ValueId value) const { return nodes[values[value].producer]; }
  /// The op's name; for nodes that are not operations, the name of their kind.
  [[nodiscard]] std::string_view op_name(NodeId node) const;
  /// `purity` of operations; structural nodes are pure.
  [[nodiscard]] Purity purity(NodeId node) const;
  /// The node's name in messages: the user's name of its first result, else a host function's name, else the op's name.
  [[nodiscard]] std::string display_name(NodeId node) const;
  /// True if `inner` is `outer` or is nested in it.
  [[nodiscard]] bool within(RegionId inner, RegionId outer) const;
  [[nodiscard]] int depth(RegionId region) const;

  // Text form (graph/text/text.h). An Error (file) names the path; one in the text has line and column.
  [[nodiscard]] Status save(const std::string& path) const;
  static Result<Graph> load(const std::string& path);
};

/// How often each region is executed in one run, from the trip counts and probabilities in `graph`. (Observed ones must be written into the
/// graph first: apply_profile in partitioner/machine/costs.h.) A while's condition runs trips + 1 times for each execution of the region
/// that holds the loop, its body trips times.
IdVector<RegionId, double> region_frequencies(const Graph& graph);
/// Whether the loop or branch that owns `region` has a trip count or probability that cleave assumed.
bool frequency_assumed(const Graph& graph, RegionId region);

}  // namespace cleave
