// What a Tracer holds while a program is recorded, and the steps that its source files share. Internal to tracer*.cpp.
//   tracer.cpp          leaves, scopes, outputs
//   tracer_names.cpp    names that the user gives values and outputs
//   tracer_literals.cpp literals: their types, constants, folding
//   tracer_apply.cpp    one op: attributes, promotion, type rule
//   tracer_control.cpp  frames and loops
//   tracer_branch.cpp   branches
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "graph/trace/predicate_text.h"
#include "graph/trace/tracer.h"

namespace cleave {

std::string to_string(const Literal& literal);
/// Whether a literal may stand for a value of `dtype` where nothing is promoted (yielded values, arms of a branch).
bool adapts(const Literal& literal, DType dtype);
/// The literal that `op` gives for literals alone, or nothing where that is none of the foldable ops and types.
std::optional<Literal> fold_literals(const OpDef& op, std::span<const Operand> inputs, const Attributes& attributes);
/// "`w`", or the given words for what has no name.
std::string quoted(const std::string& name, std::string_view otherwise);
/// Where a value of integers was meant: the division `/` that made `value` a floating one, and what to write; none if it was not that.
std::vector<Note> division_notes(const Graph& graph, ValueId value, DType meant);
/// What an integer scalar is, if it follows from constants alone.
std::optional<std::int64_t> integer_constant(const Graph& graph, ValueId value);
/// What to write where a number alone begins a carried value that becomes `wanted`; empty if it is none.
std::string begin_as(const Graph& graph, ValueId initial, const TensorType& wanted);

struct Tracer::State_ {
  /// An open loop or branch.
  struct Frame {
    NodeId node;
    RegionId outer;               ///< the region that holds it
    SourceLocation location;      ///< chained
    std::vector<NodeId> carried;  ///< none for a poisoned initial value
    RegionId first;               ///< the first region: body, condition or then arm
    bool second = false;          ///< the second region has begun
    bool may_end = false;         ///< holds a host function with effects: its failure ends the run, and with it an endless loop
  };
  /// The results of one recorded op: `count` values from `first` on, or a literal, or neither after a mistake.
  struct Recorded {
    bool ok = false;
    std::optional<Literal> literal;
    std::size_t first = 0, count = 0;
  };
  /// A name given by `named`, and where; or the name that the value had before (`by_user` is false).
  struct GivenName {
    std::string name;
    SourceLocation location;
    bool by_user = true;
  };
  struct Count {
    std::optional<std::int64_t> known;
    ValueId runtime;
  };

  Graph graph;
  RegionId region = Graph::kRoot;  ///< where nodes go
  std::vector<bool> open{true};    ///< by region: it holds the current one or is it
  std::vector<Frame> frames;
  std::vector<std::shared_ptr<const SourceFrame>> scopes;
  std::vector<Side> places;
  std::vector<Allowance> allowances;
  std::unordered_set<std::string> leaf_names, output_names;
  std::vector<ValueId> asked;                                             ///< values whose types the program's author asked for
  std::unordered_map<std::uint32_t, std::vector<GivenName>> given_names;  ///< by value, oldest first; of values that were given one
  bool out_of_order = false;                                              ///< a constant went into an arm that had ended
  const OpDef* astype = nullptr;
  std::string astype_attribute;
  TensorType literal_types[3] = {{DType::boolean, {}}, {DType::i32, {}}, {DType::f32, {}}};  ///< by Literal::Type
  std::string_view symbol;                                                                   ///< of the operator that is recorded, or empty
  std::vector<TensorType> types;                                                             ///< scratch of record()
  std::vector<ValueId> values;                                                               ///< scratch of record()

  /// The last name that the user gave `value`; null if there is none.
  [[nodiscard]] const GivenName* given_name(ValueId value) const;
  /// Where the user gave `value` that name; null if he did not.
  [[nodiscard]] const SourceLocation* where_named(ValueId value, const std::string& name) const;
  [[nodiscard]] std::vector<GivenName> names_left(ValueId value, std::span<const Returned> returned) const;
  [[nodiscard]] SourceLocation chained(SourceLocation location) const;
  void error(DiagnosticKind kind, const SourceLocation& location, std::string message, std::vector<Note> notes = {});

  /// A new node at the end of `where`; its location gets the chain of scopes.
  NodeId add_node(NodeKind kind, RegionId where, const SourceLocation& location);
  ValueId add_result(NodeId node, TensorType type, RegionId lives, std::string_view name = {});
  RegionId add_region(RegionKind kind, RegionId parent, NodeId owner);

  /// Whether `value` can be read here (or in `also`, an arm that has just ended); reports it where not.
  bool check_visible(ValueId value, const SourceLocation& location, RegionId also = {});
  bool check_leaf(const std::string& name, const TensorType& type, const SourceLocation& location);
  Operand add_leaf(NodeKind kind, const std::string& name, TensorType type, Attributes attributes, const SourceLocation& location);
  ValueId add_constant(Array value, RegionId where, const SourceLocation& location);
  /// The value of an operand in `where`; a literal becomes a constant of `wanted`. None after a mistake.
  ValueId materialize(const Operand& operand, const SourceLocation& location, std::optional<DType> wanted, RegionId where);
  ValueId cast(ValueId value, DType dtype, const SourceLocation& location);

  /// Reports a mistake in a call of `op`, which the message names: in words of what was written.
  void refuse(const OpDef& op, DiagnosticKind kind, const SourceLocation& location, std::string message);
  Recorded record(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, const SourceLocation& location);
  /// The types that the type rule gives for the operands, which are then in `values`, promoted; an error and nothing if it refuses them.
  std::optional<std::vector<TensorType>> checked_results(const OpDef& op, std::span<const Operand> inputs, const Attributes& attributes,
                                                         const SourceLocation& location);
  /// Whether the operands that are promoted meet in a type; reports it where not.
  bool check_common_type(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location);
  /// Fills `values` with the operands of `op`, promoted.
  bool promote_operands(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location);

  /// A checked predicate; none after a mistake.
  ValueId predicate(const Operand& operand, const SourceLocation& location, std::string_view what);
  std::vector<ValueId> initial_values(std::span<const State> initial);
  std::vector<Operand> add_carried(std::span<const State> initial, const std::vector<ValueId>& initial_ids);
  ValueId yielded_value(const State& state, NodeId carried);
  std::vector<Operand> yield(std::span<const State> yielded);
  Count checked_count(const Operand& operand, const SourceLocation& location);
  void set_trips(Node& node, std::optional<double> known, std::optional<double> expect);
  void check_ends(const Frame& frame);
  void report_arms(const Frame& frame, const State& a, const State& b, const TensorType& first, const TensorType& second);
  std::optional<TensorType> merged_type(const Frame& frame, const State& a, const State& b);
  void open_frame(NodeId node, RegionKind kind, const SourceLocation& location);
  Frame close_frame();
  void enter(RegionId inner);
  void leave_to(RegionId outer);
};

}  // namespace cleave
