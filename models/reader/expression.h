// Expressions as flat trees: parts stand before what they are parts of, so that evaluation is a walk over a vector, without recursion.
// Doors: parse_expression, parse_for_head, parse_names. Knows no op and no type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/trace/tracer.h"
#include "models/reader/lexer.h"

namespace cleave::models {

/// A name with its place.
struct Name {
  std::string text;
  Span span;
};

struct ExpressionNode {
  enum class Kind : std::uint8_t {
    literal,
    text,
    name,
    unary,   ///< `-`, `+`, `not`
    binary,  ///< all other operators, `and` and `or`
    call,    ///< `text` is what is called
    list,
    index,     ///< first part: what is indexed; then one a place between the commas
    range,     ///< start, stop, step of a slice, kNone where left out
    ellipsis,  ///< `...` in an index
    new_axis,  ///< `None` in an index
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Kind kind = Kind::literal;
  Span span;    ///< what to point at: a name, an operator, a bracket
  Span extent;  ///< all of it, without parentheses around it
  std::string text;
  Literal literal;
  std::vector<std::uint32_t> parts;
  std::vector<Name> keywords;  ///< calls: of each part, or empty
};

struct Expression {
  std::vector<ExpressionNode> nodes;  ///< the last is the root
  Span span;                          ///< all of it
  [[nodiscard]] const ExpressionNode& root() const { return nodes.back(); }
};

struct ForHead {
  Name counter;
  Expression count;  ///< of `range(a, b, c)`: a list of these, whose text is `range`
};

/// Nothing after an error.
std::optional<Expression> parse_expression(const YamlNode& node, Errors& errors, std::string_view what = "an expression");
/// `i in N`, `i in range(a, b, step)`
std::optional<ForHead> parse_for_head(const YamlNode& node, Errors& errors);
/// `a` or `a, b` in one scalar. Refuses reserved words.
std::optional<std::vector<Name>> parse_names(const YamlNode& node, Errors& errors);
/// The single name that a key declares.
std::optional<Name> declared_name(const YamlNode& key, Errors& errors);
/// An expression that is a name alone.
Expression name_expression(const Name& name);
/// What to write in place of `x[i]: value`.
[[nodiscard]] std::string instead_of_element(std::string_view array, std::string_view index);
/// The same, or a YAML list of single names.
std::optional<std::vector<Name>> parse_name_list(const YamlNode& node, Errors& errors);

/// The keys of statements, the literals and the operators in words: no names for values.
[[nodiscard]] const std::vector<std::string>& reserved_words();

}  // namespace cleave::models
