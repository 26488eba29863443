// Statements -> calls of the Tracer: names, loops, branches, inlined functions. A name bound outside a loop or branch and rebound inside it
// is carried through it.
#pragma once

#include <functional>
#include <limits>

#include "graph/trace/batch_reader.h"
#include "models/reader/evaluator.h"
#include "models/reader/functions.h"
#include "models/reader/statement.h"

namespace cleave::models {

class Program final : public Inliner {
 public:
  Program(Evaluator& evaluator, const Functions& functions) : evaluator_(evaluator), functions_(functions) {}

  void run(const std::vector<Statement>& statements);

  [[nodiscard]] const std::vector<Parameter>* takes(std::string_view function) const override;
  [[nodiscard]] std::vector<std::string> function_names() const override;
  Arguments inline_call(std::string_view function, const Arguments& arguments, Span call) override;

 private:
  using States = std::vector<Tracer::State>;

  void run_one(const Statement& statement);
  void bind(const Statement& statement);
  void for_loop(const Statement& statement);
  void loop(const Statement& statement, const Operand& count, std::string_view counter, std::optional<double> expect,
            std::optional<std::int64_t> most, std::optional<std::int64_t> ahead, const std::function<void(const Operand& trip)>& bind);
  void while_loop(const Statement& statement);
  void branch(const Statement& statement);
  void decided_branch(const Statement& statement, const std::vector<Statement>& arm);
  void skip(const Statement& statement);
  bool check_counts(const Statement& statement);

  /// Evaluates `expression` with the statement's `place`.
  Operand placed(const Statement& statement, const std::optional<Expression>& expression);
  Arguments all_placed(const Statement& statement, const std::optional<Expression>& expression);
  void bind_name(const Name& name, Operand operand);
  /// The names that both arms of a branch bind and that are unbound before it.
  [[nodiscard]] std::vector<std::string> fresh_names(const Statement& statement) const;
  [[nodiscard]] bool same_kind(const Operand& a, const Operand& b) const;
  void bind_all(const std::vector<std::string>& names, const std::vector<Operand>& operands);
  void rebind_all(const std::vector<std::string>& names, const std::vector<Operand>& operands, Span span);
  /// The names bound in the bodies that are also bound outside: the carried ones.
  [[nodiscard]] std::vector<std::string> carried_names(const Statement& statement) const;
  [[nodiscard]] States states(const std::vector<std::string>& names) const;
  std::optional<double> expected(const Statement& statement, const std::string& what, double most = std::numeric_limits<double>::max());
  std::optional<Operand> until(const Statement& statement);
  std::optional<std::int64_t> at_most(const Statement& statement);
  std::optional<std::int64_t> prefetch(const Statement& statement);
  /// `number`, or nothing and an error if it is out of range.
  std::optional<std::int64_t> checked_prefetch(std::optional<std::int64_t> number, Span span);

  // groups.cpp
  void group(const Statement& statement);
  void bind_argument(const Name& name, const Argument& argument);
  /// Whether each name can have the result in its place: a name that is bound to a group or to a value remains one.
  [[nodiscard]] bool fit_names(const std::vector<Name>& names, const Arguments& results) const;
  /// `names`, with each group replaced by its members.
  [[nodiscard]] std::vector<Name> with_members(const std::vector<Name>& names) const;

  // batches.cpp
  [[nodiscard]] static bool reads_batches(const Statement& statement);
  void batches_loop(const Statement& statement);
  struct BatchLoop {
    detail::BatchReader reader;
    std::optional<std::int64_t> prefetch;
  };
  /// Nothing, with an error, if an argument or the number of names is wrong.
  std::optional<BatchLoop> batch_loop(const Statement& statement);
  std::optional<Remainder> remainder(const ExpressionNode& node);
  bool fits_batch(const std::vector<Name>& names, std::size_t arrays, Remainder remainder);

  // range.cpp
  /// The range of a `for`: `count` iterations, of which the i-th has the counter `start + i * step`.
  struct Range {
    Operand count, start, step;
    [[nodiscard]] bool plain() const { return !start.value.valid() && !start.literal; }
  };
  Range range(const Statement& statement);
  Range between(const Operands& bounds, const Expression& expression);
  Operand counted(const Range& range, const Operand& trip, const Name& counter);
  Operand arithmetic(std::string_view op, const Operand& a, const Operand& b, Span span);
  [[nodiscard]] bool stopped() const { return evaluator_.exhausted() || evaluator_.errors.full(); }

  static constexpr int kMostDepth = 64;  ///< nesting depth of function calls

  Evaluator& evaluator_;
  const Functions& functions_;
  int depth_ = 0;
};

}  // namespace cleave::models
