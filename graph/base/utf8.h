// UTF-8: which bytes are well-formed, strictly (Unicode, table 3-7: no overlong forms, no surrogates, nothing beyond U+10FFFF), and how
// text that may hold any bytes is shown to people and handed to programs. Names and paths come as bytes; this is where they become text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cleave {

/// A well-formed character, or the longest truncated beginning of one (at least a byte), which one U+FFFD replaces.
struct Utf8Piece {
  std::size_t length = 0;  ///< bytes; 0 at the end of the text only
  char32_t character = 0;  ///< valid if well_formed
  bool well_formed = false;
};
[[nodiscard]] Utf8Piece utf8_piece(std::string_view text, std::size_t at);

/// The position of the first byte at which no well-formed character begins; `text.size()` if there is none.
[[nodiscard]] std::size_t first_ill_formed(std::string_view text);
[[nodiscard]] inline bool is_utf8(std::string_view text) {
  return first_ill_formed(text) == text.size();
}

/// Characters that control a terminal: C0, DEL and C1 controls, and those that change the writing direction.
[[nodiscard]] bool is_control_character(char32_t character);

/// For people: bytes that are no UTF-8 and control characters as `\x1b`, one for each byte. Line breaks and tabs stay, except in the
/// `one_line` form.
[[nodiscard]] std::string escape_controls(std::string_view text);
[[nodiscard]] std::string escape_controls_one_line(std::string_view text);

/// For programs (JSON): bytes that are not UTF-8 become U+FFFD, one for each Utf8Piece.
[[nodiscard]] std::string replace_ill_formed(std::string_view text);

}  // namespace cleave
