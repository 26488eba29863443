// Tokens of the expression language. Doors: expression_text (a YAML scalar -> text whose every byte knows its place in the file) and lex.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/reader/source.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {

/// What stands between the user and his expression: the text without YAML's quotes and escapes.
struct ExpressionText {
  std::string text;
  std::vector<std::size_t> places;  ///< in the file, of each byte and of the end; empty: contiguous from `begin`
  std::size_t begin = 0;
  /// Where YAML ended a plain scalar before the line's end, with what it saw there: `#`, `:`, `,` or a bracket; 0: nowhere.
  char cut = '\0';
  std::size_t cut_at = 0;
  std::string whole;  ///< the expression with what was cut off

  [[nodiscard]] std::size_t place(std::size_t index) const { return places.empty() ? begin + index : places[index]; }
  [[nodiscard]] Span span(std::size_t from, std::size_t to) const { return {place(from), to > from ? place(to - 1) + 1 : place(from)}; }
};

/// Nothing (and an error) if the node is no scalar or YAML changed what the user wrote. `what` names what is expected.
std::optional<ExpressionText> expression_text(const YamlNode& node, std::string_view what, Errors& errors);

struct Token {
  enum class Kind : std::uint8_t { end, integer, floating, name, text, symbol };
  Kind kind = Kind::end;
  std::string text;  ///< names (also of members, `layer.w`), symbols; texts without quotes and escapes
  std::int64_t integer = 0;
  bool two_to_63 = false;  ///< the integer is 2^63, which only i64's smallest number is written with
  double floating = 0;
  Span span;

  [[nodiscard]] bool is_end() const { return kind == Kind::end; }
  [[nodiscard]] bool is(std::string_view symbol) const { return (kind == Kind::symbol || kind == Kind::name) && text == symbol; }
};

/// Ends with an `end` token. Nothing after an error.
std::optional<std::vector<Token>> lex(const ExpressionText& text, Errors& errors);

/// Reports that YAML cut the expression off, where it did. True if so.
bool report_cut(const ExpressionText& text, Errors& errors);

/// Letters, digits and `_`, not beginning with a digit.
[[nodiscard]] bool is_name(std::string_view text);
/// The name of a member of a group, `layer.w`.
[[nodiscard]] inline bool is_member(std::string_view name) {
  return name.find('.') != std::string_view::npos;
}

}  // namespace cleave::models
