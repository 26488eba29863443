// Markup: text of elements, well-formed by construction, as XML and as HTML. Whatever text and attribute values hold, it is escaped.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::planner {

/// What a browser shows as `text`: escaped, and what no document may hold as `\x1b` or U+FFFD.
std::string escape_markup(std::string_view text);

class Markup {
 public:
  /// Those with an empty value are left out.
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void open(std::string_view tag, Attributes attributes = {});
  void close();
  void text(std::string_view text) { out_ += escape_markup(text); }
  /// Text with code in backticks, as messages have it.
  void prose(std::string_view text);
  /// An element with text only; one that is never empty in HTML (`td`, `span`).
  void leaf(std::string_view tag, std::string_view text, Attributes attributes = {});
  /// One without content: `meta`, `rect`.
  void empty(std::string_view tag, Attributes attributes);
  /// As it is: style sheets, scripts, pictures that are well-formed.
  void raw(std::string_view text) { out_ += text; }
  /// For people who look at the file.
  void line() { out_ += '\n'; }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  void begin(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string> open_;
};

}  // namespace cleave::planner
