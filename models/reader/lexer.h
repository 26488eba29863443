// Lexer of the expression language. Entry points: expression_text (a YAML scalar -> text, with the location in the file of each byte) and
// lex.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/reader/source.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {

/// The text of an expression after YAML's quotes and escapes are undone.
struct ExpressionText {
  std::string text;
  std::vector<std::size_t> places;  ///< offsets in the file of each byte and of the end; empty: contiguous from `begin`
  std::size_t begin = 0;
  /// The character (`#`, `:`, `,` or a bracket) at which YAML ended a plain scalar before the end of the line; 0: it did not.
  char cut = '\0';
  std::size_t cut_at = 0;
  std::string whole;  ///< the expression including the part that YAML cut off

  [[nodiscard]] std::size_t place(std::size_t index) const { return places.empty() ? begin + index : places[index]; }
  [[nodiscard]] Span span(std::size_t from, std::size_t to) const { return {place(from), to > from ? place(to - 1) + 1 : place(from)}; }
};

/// Nothing, with an error, if the node is no scalar or YAML changed the user's text. `what` names the expected kind of text.
std::optional<ExpressionText> expression_text(const YamlNode& node, std::string_view what, Errors& errors);

struct Token {
  enum class Kind : std::uint8_t { end, integer, floating, name, text, symbol };
  Kind kind = Kind::end;
  std::string text;  ///< names (including members, `layer.w`), symbols; string literals without quotes and escapes
  std::int64_t integer = 0;
  bool two_to_63 = false;  ///< the integer is 2^63: valid only after a `-`, as i64's smallest number
  double floating = 0;
  Span span;

  [[nodiscard]] bool is_end() const { return kind == Kind::end; }
  [[nodiscard]] bool is(std::string_view symbol) const { return (kind == Kind::symbol || kind == Kind::name) && text == symbol; }
};

/// The tokens, with an `end` token last. Returns nothing after an error.
std::optional<std::vector<Token>> lex(const ExpressionText& text, Errors& errors);

/// If YAML cut the expression off, reports it and returns true.
bool report_cut(const ExpressionText& text, Errors& errors);

/// Letters, digits and `_`, not beginning with a digit.
[[nodiscard]] bool is_name(std::string_view text);
/// Whether `name` is that of a group's member, `layer.w`.
[[nodiscard]] inline bool is_member(std::string_view name) {
  return name.find('.') != std::string_view::npos;
}

}  // namespace cleave::models
