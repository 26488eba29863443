// Statements as written: YAML -> Statement. Checks only their form; knows no op, no type and no value.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "models/reader/expression.h"

namespace cleave::models {

/// One of `{w, b: b2}`.
struct Member {
  Name name;
  std::optional<Expression> expression;
};

struct Statement {
  enum class Kind : std::uint8_t { bind, group, effect, for_loop, while_loop, branch };
  Kind kind = Kind::effect;
  Span span;                             ///< its first key, or its expression
  std::vector<Name> names;               ///< bind, group: the bound names; for: the counter, or the parts of a batch
  std::optional<Expression> expression;  ///< bound value, effect, count, condition or predicate. Nothing after an error
  std::optional<Expression> until;       ///< for
  std::optional<Expression> expected;    ///< loops: `expect`; branch: `probability`
  std::optional<Expression> at_most;     ///< loops
  std::optional<Expression> prefetch;    ///< for
  std::vector<Member> members;           ///< group
  bool has_until = false, has_else = false;
  bool is_else_if = false;  ///< the only statement of an `else` that was written as `elif`
  std::vector<Statement> body, otherwise;
  Side place = Side::none;
  Recompute recompute = Recompute::automatic;
  std::vector<Allowance> allowed;
};

/// The statements of a `program`, `do`, `then` or `else`. Wrong statements are reported; the names that they bind are still known.
std::vector<Statement> parse_statements(const YamlNode& node, const std::string& key, Errors& errors);

/// The names bound in the statements and in all nested ones, in order of first appearance.
std::vector<std::string> bound_names(const std::vector<Statement>& statements);

/// The value of a key `recompute`; `automatic` after a mistake, which is reported.
Recompute read_recompute(const YamlNode& node, Errors& errors);

/// Calls `visit` with each expression, nested ones included, in order.
template <class Visit>
void for_each_expression(const std::vector<Statement>& statements, const Visit& visit) {
  for (const Statement& statement : statements) {
    for (const auto* expression : {&statement.expression, &statement.until}) {
      if (*expression) visit(**expression);
    }
    for (const Member& member : statement.members) {
      if (member.expression) visit(*member.expression);
    }
    for_each_expression(statement.body, visit);
    for_each_expression(statement.otherwise, visit);
  }
}

}  // namespace cleave::models
