// Expressions as flat trees: a node's parts precede the node, so that evaluation is a loop over a vector, without recursion. Entry points:
// parse_expression, parse_for_head, parse_names. Knows no op and no type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/trace/tracer.h"
#include "models/reader/lexer.h"

namespace cleave::models {

/// A name with its location in the text.
struct Name {
  std::string text;
  Span span;
};

/// A parameter of a function: `w`, or `rate=0.1`, whose argument may be left out.
struct Parameter {
  Name name;
  std::optional<Literal> otherwise;
};

struct ExpressionNode {
  enum class Kind : std::uint8_t {
    literal,
    text,
    name,
    unary,   ///< `-`, `+`, `not`
    binary,  ///< all other operators, `and` and `or`
    call,    ///< `text` is the callee's name
    list,
    index,     ///< first part: the indexed value; then one part for each comma-separated index
    range,     ///< start, stop and step of a slice; kNone if left out
    ellipsis,  ///< `...` in an index
    new_axis,  ///< `None` in an index
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Kind kind = Kind::literal;
  Span span;    ///< the part that a message points at: a name, an operator, a bracket
  Span extent;  ///< the whole expression, without parentheses around it
  std::string text;
  Literal literal;
  std::vector<std::uint32_t> parts;
  std::vector<Name> keywords;  ///< calls: the keyword of each part, or empty
};

struct Expression {
  std::vector<ExpressionNode> nodes;  ///< the last is the root
  Span span;                          ///< the whole expression
  [[nodiscard]] const ExpressionNode& root() const { return nodes.back(); }
};

/// The function that a call calls: `f` for `f(x)`, and for `each(f, group)`.
[[nodiscard]] const ExpressionNode& callee(const Expression& expression, const ExpressionNode& call);
/// The call that applies a function to the members of groups.
inline constexpr std::string_view kEach = "each";

/// The call in the head of a `for` that reads rows of arrays.
inline constexpr std::string_view kBatches = "batches";

struct ForHead {
  std::vector<Name> names;  ///< the counter, or the parts of a batch
  Expression count;  ///< for `range(a, b, c)`: a list of a, b, c, whose text is `range`; for `batches(…)`: alike, with its keywords
};

/// Returns nothing after an error.
std::optional<Expression> parse_expression(const YamlNode& node, Errors& errors, std::string_view what = "an expression");
/// `i in N`, `i in range(a, b, step)`, `(x, y) in batches(…)`
std::optional<ForHead> parse_for_head(const YamlNode& node, Errors& errors);
/// `a` or `a, b` in one scalar. Refuses reserved words.
std::optional<std::vector<Name>> parse_names(const YamlNode& node, Errors& errors);
/// Reports a name that stands there twice.
bool check_distinct(const std::vector<Name>& names, Errors& errors);
/// The single name that a key declares.
std::optional<Name> declared_name(const YamlNode& key, Errors& errors);
/// An expression that consists of one name.
Expression name_expression(const Name& name);
/// Text that advises how to write `x[i]: value`, which the language does not have.
[[nodiscard]] std::string instead_of_element(std::string_view array, std::string_view index);
/// As parse_names, but also accepts a YAML list of single names.
std::optional<std::vector<Name>> parse_name_list(const YamlNode& node, Errors& errors);

/// As parse_name_list, with a number, `true` or `false` behind the `=` of a name whose argument may be left out.
std::optional<std::vector<Parameter>> parse_parameters(const YamlNode& node, Errors& errors);

/// Statement keys, literals and operators that are words (`and`, `not`): they cannot be names of values.
[[nodiscard]] const std::vector<std::string>& reserved_words();

}  // namespace cleave::models
