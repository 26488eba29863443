// Markup: builds text with elements that is well-formed both as XML and as HTML. It escapes all texts and attribute values.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::planner {

/// Escapes `text` for display in a browser. Characters that no document may contain become `\x1b` or U+FFFD.
std::string escape_markup(std::string_view text);

class Markup {
 public:
  /// Attributes with an empty value are left out.
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void open(std::string_view tag, Attributes attributes = {});
  void close();
  void text(std::string_view text) { out_ += escape_markup(text); }
  /// Adds text in which backticks enclose code, as in messages.
  void prose(std::string_view text);
  /// An element that contains only text, such as `td` or `span`. In HTML it always has an end tag.
  void leaf(std::string_view tag, std::string_view text, Attributes attributes = {});
  /// An element without content, such as `meta` or `rect`.
  void empty(std::string_view tag, Attributes attributes);
  /// Adds text without escaping: style sheets, scripts, well-formed pictures.
  void raw(std::string_view text) { out_ += text; }
  /// Adds a line break, for people who read the file.
  void line() { out_ += '\n'; }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  void begin(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace cleave::planner
