// Tracer: builds a Graph, one call an op, for C++ functions and YAML models alike. It checks number, attributes and types of the operands
// at the call, converts mixed element types (docs/ops.md says how), gives literals their type, and reports a mistake once: its result is
// poison, and nothing is reported about what is computed from that.
#pragma once

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

/// The element type of a literal that meets no other operand.
DType default_dtype(const Literal& literal);

/// What an op is applied to: a value of the graph, a literal, or poison (neither: the result of a mistake already reported).
struct Operand {
  ValueId value;
  std::optional<Literal> literal;
  SourceLocation written;  ///< of a literal: where it stands, if the face knows
  std::string name;        ///< the name that the user gave this handle by `named`, or empty

  Operand() = default;
  Operand(ValueId v) : value(v) {}
  Operand(Literal l, SourceLocation where = {}) : literal(l), written(std::move(where)) {}
  [[nodiscard]] bool poisoned() const { return !value.valid() && !literal; }
};

class Tracer {
 public:
  explicit Tracer(std::string name);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // --- leaves -------------------------------------------------------------------------------------------------------------------
  Operand input(std::string name, TensorType type, Attributes attributes, SourceLocation location);
  Operand parameter(std::string name, TensorType type, Attributes attributes, SourceLocation location);
  Operand constant(Array value, SourceLocation location);

  // --- operations ---------------------------------------------------------------------------------------------------------------
  /// Applies `op`; a composite function is traced into its parts. Returns one operand a result; all poisoned (as many as the op has at the
  /// least, never empty unless the op gives none) after a mistake.
  std::vector<Operand> apply(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location);
  /// Single-result form.
  Operand call(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location);
  /// The same for an operator: messages name it by its `symbol` (`*`), as it is written.
  Operand operate(std::string_view symbol, const OpDef& op, std::span<const Operand> inputs, SourceLocation location);
  /// Gives a literal its type (`wanted`, else i32, f32 or bool) as a constant node; other operands pass through.
  Operand materialize(const Operand& operand, SourceLocation location, std::optional<DType> wanted = std::nullopt);
  /// The name that a value has in the program (a variable, a name in a file). A value keeps its first one; carried values are named by
  /// begin_*.
  void name(const Operand& operand, std::string_view name);
  /// The name that the user gives a value by `named`, for messages and outputs: the last one counts. The value of an input or parameter
  /// keeps its own in messages, since runs are given it by that. Returns a handle with the name.
  Operand rename(Operand operand, std::string_view name, const SourceLocation& location);
  /// The last name that the user gave, else the one that the value has in the program; empty if there is none.
  [[nodiscard]] std::string name_of(const Operand& operand) const;
  /// Names a result of a loop or branch as the user named the value that was yielded to it, if he did.
  void inherit_name(const Operand& result, const Operand& yielded);
  [[nodiscard]] const TensorType* type(const Operand& operand) const;  ///< null for poison; a literal's default scalar type
  [[nodiscard]] const Graph& graph() const;                            ///< as far as it is built

  // --- control flow: begin, trace the inside, end; strictly nested -----------------------------------------------------------------
  struct State {
    std::string name;  ///< of the carried value, or empty
    Operand operand;
    SourceLocation location;
  };
  struct Loop {
    Operand counter;              ///< for only
    std::vector<Operand> inside;  ///< the carried values as the body sees them
  };
  /// `count`: an integer scalar (literal: known trips; value: a runtime count, assumed 10 unless `expect`).
  Loop begin_for(const Operand& count, std::span<const State> initial, SourceLocation location, std::optional<double> expect = std::nullopt,
                 std::string_view counter_name = {});
  /// Ends the body: yields one operand a carried value (of its type), `until` tested after each trip. Returns the values after the loop.
  std::vector<Operand> end_for(std::span<const State> yielded, const std::optional<Operand>& until = std::nullopt);
  Loop begin_while(std::span<const State> initial, SourceLocation location, std::optional<double> expect = std::nullopt);
  void while_condition(const Operand& predicate, SourceLocation location);  ///< ends the condition, begins the body
  std::vector<Operand> end_while(std::span<const State> yielded);
  /// `probability` of the then arm; unknown: by rule (`i % k == 0` on a loop counter: 1/k), else 0.5 and assumed.
  void begin_branch(const Operand& predicate, SourceLocation location, std::optional<double> probability = std::nullopt);
  void begin_otherwise();
  /// One result for each pair; the arms must agree in type (literals adapt).
  std::vector<Operand> end_branch(std::span<const State> then_values, std::span<const State> else_values);

  // --- scopes: what holds for every node made inside -----------------------------------------------------------------------------
  void push_scope(std::string label, SourceLocation caller);  ///< locations chain through it
  void pop_scope();
  void push_place(Side side);
  void pop_place();
  void push_allow(Allowance allowance);
  void pop_allow();

  // --- end ------------------------------------------------------------------------------------------------------------------------
  /// A value that a traced function returns, and its name in the nest of results (empty: it has none there).
  struct Returned {
    std::string member;
    Operand operand;
  };
  /// The names of outputs: those in the nest, else those that the user gave (a value with several names that is returned several times uses
  /// one each time), else those of the values where they are free, else `output0`, `output1`... by position. Two values to which the user
  /// gave one name are reported where the later output got it.
  std::vector<std::string> output_names(std::span<const Returned> returned);
  void output(std::string name, const Operand& operand, SourceLocation location);
  void set_limits(Limits limits);
  /// Reports a mistake that the face found.
  void error(DiagnosticKind kind, SourceLocation location, std::string message, std::vector<Note> notes = {});
  /// The chain of open scopes, put behind a location that the face made.
  [[nodiscard]] SourceLocation chained(SourceLocation location) const;
  [[nodiscard]] bool has_errors() const;
  /// The graph, with its diagnostics. The Tracer is spent.
  Graph finish();
  /// The same, with a warning for what nothing reads: for programs that people write.
  Graph finish_written();
  /// The program's author asked for the type of a value, and so uses it, whether or not an operation reads it.
  void note_type_asked(const Operand& operand);

 private:
  std::vector<Operand> compose(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, const SourceLocation& location);

  struct State_;
  std::unique_ptr<State_> state_;
};

}  // namespace cleave
