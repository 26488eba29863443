// Tracer::State_: the Tracer's state while a program is recorded, and the steps that its source files share. Internal to tracer*.cpp.
//   tracer.cpp          leaves, scopes, outputs
//   tracer_names.cpp    names that the user gives values and outputs
//   tracer_literals.cpp literals: their types, constants, folding
//   tracer_apply.cpp    one op: attributes, promotion, type rule
//   tracer_control.cpp  frames and loops
//   tracer_branch.cpp   branches
//   tracer_lengths.cpp  values of which only the first elements count
//   tracer_entries.cpp  counts of entries, which are states
//   tracer_continue.cpp insertion into finished graphs
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "graph/length_call.h"
#include "graph/trace/predicate_text.h"
#include "graph/trace/tracer.h"

namespace cleave {

std::string to_string(const Literal& literal);
/// Whether a literal can become a constant of `dtype` in places without promotion (yielded values, arms of a branch).
bool adapts(const Literal& literal, DType dtype);
/// The result of `op` on literals only; nothing if the op or its types cannot be folded.
std::optional<Literal> fold_literals(const OpDef& op, std::span<const Operand> inputs, const Attributes& attributes);
/// "`w`", or `otherwise` if `name` is empty.
std::string quoted(const std::string& name, std::string_view otherwise);
/// Notes for a floating `value` in place of an integer: the `/` that produced it and the fix; none if no division did.
std::vector<Note> division_notes(const Graph& graph, ValueId value, DType meant);
/// The value of an integer scalar, if it follows from constants alone.
std::optional<std::int64_t> integer_constant(const Graph& graph, ValueId value);
/// The suggested spelling of a carried value's initial number so that it has type `wanted`; empty if the initial value is not a number.
std::string begin_as(const Graph& graph, ValueId initial, const TensorType& wanted);

struct Tracer::State_ {
  /// An open loop or branch.
  struct Frame {
    NodeId node;
    RegionId outer;               ///< the region that holds it
    SourceLocation location;      ///< chained
    std::vector<NodeId> carried;  ///< an invalid id for a poisoned initial value
    RegionId first;               ///< the first region: body, condition or then arm
    bool second = false;          ///< the second region has been entered
    bool may_end = false;         ///< holds a host function with effects: its failure ends the run, and with it an endless loop
  };
  /// The results of one recorded op: `count` values from `first` on, or a literal, or neither after a mistake.
  struct Recorded {
    bool ok = false;
    std::optional<Literal> literal;
    std::size_t first = 0, count = 0;
  };
  /// A name given by `named` and its location; or the name that the value had before (`by_user` is false).
  struct GivenName {
    std::string name;
    SourceLocation location;
    bool by_user = true;
  };
  /// A place of insertion in a finished graph, and how to return from it.
  struct Insertion {
    RegionId from, where;
    std::vector<NodeId> behind;  ///< nodes of the region behind the place
    std::vector<bool> open;      ///< as it was before
  };
  struct Count {
    std::optional<std::int64_t> known;
    ValueId runtime;
  };

  Graph graph;
  RegionId region = Graph::kRoot;  ///< the region to which nodes are added
  std::vector<bool> open{true};    ///< per region: whether it is the current one or encloses it
  std::vector<Frame> frames;
  std::vector<Insertion> insertions;
  std::vector<std::shared_ptr<const SourceFrame>> scopes;
  std::vector<Pin> places;
  std::vector<Recompute> recomputes;
  std::vector<Allowance> allowances;
  std::unordered_set<std::string> leaf_names, output_names;
  std::vector<ValueId> asked;                                             ///< values whose types the program's author asked for
  std::unordered_map<std::uint32_t, std::vector<GivenName>> given_names;  ///< names of each user-named value, oldest first
  std::vector<ValueId> entries;                                           ///< constants in the place of counts of entries
  bool out_of_order = false;                                              ///< nodes were added to a region that had ended
  TensorType literal_types[3] = {{DType::boolean, {}}, {DType::i32, {}}, {DType::f32, {}}};  ///< by Literal::Type
  std::string_view symbol;                                                                   ///< of the operator that is recorded, or empty
  std::vector<TensorType> types;                                                             ///< scratch of record()
  std::vector<ValueId> values;                                                               ///< scratch of record()

  std::unordered_map<std::uint32_t, Lengths> lengths;    ///< by value
  std::unordered_map<std::uint32_t, std::int64_t> most;  ///< the largest possible value of a count
  int whole = 0;                                         ///< above 0: operations take values with all of their elements

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
  /// The value of an operand in region `where`; a literal becomes a constant of type `wanted`. Invalid after a mistake.
  ValueId materialize(const Operand& operand, const SourceLocation& location, std::optional<DType> wanted, RegionId where);
  ValueId cast(ValueId value, DType dtype, const SourceLocation& location);

  /// Reports a mistake in a call of `op`; the message names it as the user wrote it.
  void refuse(const OpDef& op, DiagnosticKind kind, const SourceLocation& location, std::string message);
  Recorded record(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, const SourceLocation& location);
  /// Promotes the operands into `values` and returns the result types of the type rule; reports an error and returns nothing if the rule
  /// rejects them.
  std::optional<std::vector<TensorType>> checked_results(const OpDef& op, std::span<const Operand> inputs, const Attributes& attributes,
                                                         const SourceLocation& location);
  /// Whether the promoted operands have a common type; reports an error if not.
  bool check_common_type(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location);
  /// Fills `values` with the promoted operands of `op`.
  bool promote_operands(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location);

  [[nodiscard]] bool has_lengths(std::span<const Operand> inputs) const;
  ValueId record_whole(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, const SourceLocation& location);
  Operand masked(const Operand& value, int axis, ValueId count, Neutral neutral, const SourceLocation& location);
  ValueId checked(std::shared_ptr<const HostFunction> check, std::span<const Operand> counts, const SourceLocation& location);
  /// Applies the length rule of `op`: replaces operands by masked ones, and states the lengths of the results. False after a mistake.
  bool apply_lengths(const OpDef& op, std::vector<Operand>& inputs, const Attributes& attributes, const SourceLocation& location,
                     std::vector<Lengths>& results);
  void set_length(ValueId value, const Length& length);
  void set_lengths(std::size_t first, const std::vector<Lengths>& results);
  /// Sets the length of results that a run counts: the positions of `nonzero` without a size, which are the values from `first` on.
  void set_counted_length(const OpDef& op, const Attributes& attributes, std::size_t first, const SourceLocation& location);
  /// The lengths of a value that a loop carries, or of a branch's result: those of both values, which must be the same. Reports it where
  /// they differ.
  Lengths common_lengths(ValueId a, ValueId b, const SourceLocation& location, std::string_view name, std::string_view where);
  void add_counts();

  /// A checked predicate; none after a mistake.
  ValueId predicate(const Operand& operand, const SourceLocation& location, std::string_view what);
  std::vector<ValueId> initial_values(std::span<const State> initial);
  std::vector<Operand> add_carried(std::span<const State> initial, const std::vector<ValueId>& initial_ids);
  ValueId yielded_value(const State& state, NodeId carried);
  std::vector<Operand> yield(std::span<const State> yielded);
  Count checked_count(const Operand& operand, const SourceLocation& location);
  void set_trips(Node& node, std::optional<std::int64_t> known, std::optional<double> expect, std::optional<std::int64_t> at_most);
  void set_prefetch(Node& loop, std::optional<std::int64_t> prefetch);
  void check_ends(const Frame& frame);
  void report_arms(const Frame& frame, const State& a, const State& b, const TensorType& first, const TensorType& second);
  std::optional<TensorType> merged_type(const Frame& frame, const State& a, const State& b);
  void open_frame(NodeId node, RegionKind kind, const SourceLocation& location);
  Frame close_frame();
  void insert_at(RegionId where, NodeId before);
  void end_insertion();
  void enter(RegionId inner);
  void leave_to(RegionId outer);
};

}  // namespace cleave
