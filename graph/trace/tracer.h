// Tracer: builds a Graph, one call per op, for C++ functions and YAML models alike. It checks number, attributes and types of the operands
// at the call, promotes mixed element types (docs/ops.md has the rules), gives literals their type, and reports a mistake once: its result
// is poison, and no further mistake is reported for values computed from it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A number or bool as written: weakly typed. Operations on literals alone stay literals (computed in i64 or f64).
struct Literal {
  enum class Type : std::uint8_t { boolean, integer, floating } type = Type::integer;
  std::int64_t integer = 0;  ///< also bool as 0 or 1
  double floating = 0;
  bool above_i64 = false;  ///< an integer of 2^63 or more, which only u64 and floating types hold: `integer` has its bits

  /// An integer's value as a double.
  [[nodiscard]] double rounded() const {
    return above_i64 ? static_cast<double>(static_cast<std::uint64_t>(integer)) : static_cast<double>(integer);
  }
};

/// The element type of a literal without another operand to adapt to.
DType default_dtype(const Literal& literal);

/// An operand of an op: a value of the graph, a literal, or poison (neither; the result of a mistake that was already reported).
struct Operand {
  ValueId value;
  std::optional<Literal> literal;
  SourceLocation written;  ///< source location of a literal, if the front end knows it
  std::string name;        ///< the name that the user gave this handle by `named`, or empty

  Operand() = default;
  Operand(ValueId v) : value(v) {}
  Operand(Literal l, SourceLocation where = {}) : literal(l), written(std::move(where)) {}
  [[nodiscard]] bool poisoned() const { return !value.valid() && !literal; }
};

class Tracer {
 public:
  explicit Tracer(std::string name);
  /// Goes on in a finished graph, which must have no errors; see insert_at.
  explicit Tracer(Graph graph);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // --- leaves -------------------------------------------------------------------------------------------------------------------
  Operand input(std::string name, TensorType type, Attributes attributes, SourceLocation location);
  Operand parameter(std::string name, TensorType type, Attributes attributes, SourceLocation location);
  Operand constant(Array value, SourceLocation location);

  /// The number of times that this place of the program was reached since the first run: an i32 scalar, 0 at first. It is a state
  /// (graph/states.h), which the finished program keeps in a parameter of its own.
  Operand count_entries(SourceLocation location);

  // --- operations ---------------------------------------------------------------------------------------------------------------
  /// Applies `op`; a composite function is traced into its parts. Returns one operand per result. After a mistake all are poison, in the
  /// smallest number of results that the op can have.
  std::vector<Operand> apply(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location);
  /// Single-result form.
  Operand call(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location);
  /// The same for an operator, which messages name by its `symbol` (`*`).
  Operand operate(std::string_view symbol, const OpDef& op, std::span<const Operand> inputs, SourceLocation location);
  /// Gives a literal its type (`wanted`, else i32, f32 or bool) as a constant node; other operands pass through.
  Operand materialize(const Operand& operand, SourceLocation location, std::optional<DType> wanted = std::nullopt);
  /// Sets the name that a value has in the program (a variable, a name in a file). Only the first call for a value counts; begin_* name
  /// carried values.
  void name(const Operand& operand, std::string_view name);
  /// Sets the name that the user gives a value by `named`, for messages and outputs; the last call counts. An input or parameter keeps its
  /// own name in messages, since callers bind it by that name. Returns a handle with the new name.
  Operand rename(Operand operand, std::string_view name, const SourceLocation& location);
  /// The last name that the user gave, else the value's name in the program, else empty.
  [[nodiscard]] std::string name_of(const Operand& operand) const;
  /// Gives a result of a loop or branch the name that the user gave to the yielded value, if any.
  void inherit_name(const Operand& result, const Operand& yielded);
  [[nodiscard]] const TensorType* type(const Operand& operand) const;  ///< null for poison; a literal's default scalar type
  [[nodiscard]] const Graph& graph() const;                            ///< the graph built so far

  // --- sizes that depend on data ---------------------------------------------------------------------------------------------------
  // A value may have a length along an axis: only its first elements count, as many as an i64 scalar says, and those behind them mean
  // nothing. Operations follow their length rules (graph/ops/length_rules.h); one that does not take such values is a mistake. A run
  // returns the first elements of outputs.
  /// `most`: the largest possible number, if that is less than the extent.
  void set_length(const Operand& value, int axis, const Operand& count, std::optional<std::int64_t> most = std::nullopt);
  [[nodiscard]] Lengths lengths(const Operand& value) const;            ///< empty: all elements count
  [[nodiscard]] std::optional<std::int64_t> most(ValueId count) const;  ///< the largest possible number, for counts of lengths
  [[nodiscard]] bool any_lengths() const;                               ///< whether any value has a length
  /// `value` with neutral elements behind its lengths, and without lengths.
  Operand masked(const Operand& value, Neutral neutral, const SourceLocation& location);
  void begin_whole();  ///< operations recorded from here on take values with all of their elements; calls nest
  void end_whole();

  // --- control flow: begin, trace the inside, end; strictly nested -----------------------------------------------------------------
  struct State {
    std::string name;  ///< name of the carried value, or empty
    Operand operand;
    SourceLocation location;
  };
  struct Loop {
    Operand counter;              ///< for only
    std::vector<Operand> inside;  ///< the carried values as the body sees them
  };
  /// `count`: an integer scalar (literal: known trips; value: a runtime count, assumed 10 unless `expect`). `at_most`: more trips than that
  /// are an Error of the run. `prefetch`: the trips whose data may be made ahead (trips.h).
  Loop begin_for(const Operand& count, std::span<const State> initial, SourceLocation location, std::optional<double> expect = std::nullopt,
                 std::string_view counter_name = {}, std::optional<std::int64_t> at_most = std::nullopt,
                 std::optional<std::int64_t> prefetch = std::nullopt);
  /// Ends the body: yields one operand per carried value, of its type; `until` is tested after each trip. Returns the values after the
  /// loop.
  std::vector<Operand> end_for(std::span<const State> yielded, const std::optional<Operand>& until = std::nullopt);
  Loop begin_while(std::span<const State> initial, SourceLocation location, std::optional<double> expect = std::nullopt,
                   std::optional<std::int64_t> at_most = std::nullopt);
  void while_condition(const Operand& predicate, SourceLocation location);  ///< ends the condition, begins the body
  std::vector<Operand> end_while(std::span<const State> yielded);
  /// `probability` of the then arm; unknown: by rule (`i % k == 0` on a loop counter: 1/k), else 0.5 and assumed.
  void begin_branch(const Operand& predicate, SourceLocation location, std::optional<double> probability = std::nullopt);
  void begin_otherwise();
  /// One result for each pair; the arms must agree in type (literals adapt).
  std::vector<Operand> end_branch(std::span<const State> then_values, std::span<const State> else_values);

  // --- scopes: properties of every node made inside ------------------------------------------------------------------------------
  void push_scope(std::string label, SourceLocation caller);  ///< locations chain through it
  void pop_scope();
  void push_place(Pin pin);
  void push_place(Side side) { push_place(Pin{side}); }
  void pop_place();
  [[nodiscard]] bool placed() const;  ///< whether a place is pushed
  /// Under `always`, an operation that has an effect is an error.
  void push_recompute(Recompute recompute);
  void pop_recompute();
  void push_allow(Allowance allowance);
  void pop_allow();

  // --- insertion into a finished graph (for passes) --------------------------------------------------------------------------------
  /// What is recorded from here on stands in `region`, in front of the node `before` (invalid: at the end). Insertions nest.
  void insert_at(RegionId region, NodeId before);
  void end_insertion();
  /// Carries one more value through a finished loop: `initial` records its initial value in front of the loop, `next` its next value at the
  /// end of the body. Returns the value after the loop.
  Operand carry_more(NodeId loop, const std::function<Operand()>& initial, const std::function<Operand(const Operand& inside)>& next);
  /// One more value that both arms of a finished branch yield, of equal types. Returns the result of the merge.
  Operand merge_more(NodeId branch, const Operand& from_then, const Operand& from_otherwise);
  /// Whether `value` can be read at the place of insertion.
  [[nodiscard]] bool can_read(ValueId value) const;
  [[nodiscard]] RegionId region() const;  ///< in which nodes are recorded now
  /// The graph, not verified, and with nodes numbered in the order of insertion (in_program_order). The Tracer must not be used afterwards.
  Graph release();

  // --- end ------------------------------------------------------------------------------------------------------------------------
  /// A value that a traced function returns, and its name in the nest of results, or empty.
  struct Returned {
    std::string member;
    Operand operand;
  };
  /// The names of outputs, by precedence: the name in the nest; a name that the user gave (a value returned several times uses a different
  /// one of its names each time); the value's own name if no other output has it; `output0`, `output1`... by position. If the user gave two
  /// outputs the same name, that is reported at the place where the later one was named.
  std::vector<std::string> output_names(std::span<const Returned> returned);
  void output(std::string name, const Operand& operand, SourceLocation location);
  void set_limits(Limits limits);
  /// Reports a mistake that the front end found.
  void error(DiagnosticKind kind, SourceLocation location, std::string message, std::vector<Note> notes = {});
  /// Appends the chain of open scopes to a location of the front end.
  [[nodiscard]] SourceLocation chained(SourceLocation location) const;
  [[nodiscard]] bool has_errors() const;
  /// Returns the graph with its diagnostics. The Tracer must not be used afterwards.
  Graph finish();
  /// The same, with warnings for values that nothing reads. Used for programs written by people.
  Graph finish_written();
  /// Records that the program queried a value's type, so that the value counts as used even if no operation reads it.
  void note_type_asked(const Operand& operand);

 private:
  void add_entry_counts();
  std::vector<Operand> compose(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, const SourceLocation& location);

  struct State_;
  std::unique_ptr<State_> state_;
};

}  // namespace cleave
