// A character's first byte determines its length and the range of its second byte; all further bytes are 80..BF.
#include "graph/base/utf8.h"

#include <algorithm>

namespace cleave {
namespace {

/// A row of table 3-7 of the Unicode standard.
struct Row {
  unsigned char first, last;      ///< range of the first byte
  unsigned char lowest, highest;  ///< range of the second byte
  unsigned char length;
};
constexpr Row kRows[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                         {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                         {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

const Row* row_of(unsigned char first) {
  for (const Row& row : kRows)
    if (first >= row.first && first <= row.last) return &row;
  return nullptr;
}

std::string escaped(std::string_view text, bool one_line) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    const std::string_view bytes = text.substr(at, piece.length);
    at += piece.length;
    const bool layout = !one_line && (bytes == "\n" || bytes == "\t");
    if (layout || (piece.well_formed && !is_control_character(piece.character))) {
      out += bytes;
      continue;
    }
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15u];
    }
  }
  return out;
}

}  // namespace

Utf8Piece utf8_piece(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {1, first, true};
  const Row* row = row_of(first);
  if (!row) return {1, 0, false};
  char32_t character = first & (0x7fu >> row->length);
  for (std::size_t i = 1; i < row->length; ++i) {
    const unsigned char lowest = i == 1 ? row->lowest : 0x80, highest = i == 1 ? row->highest : 0xbf;
    if (at + i >= text.size() || byte(at + i) < lowest || byte(at + i) > highest) return {i, 0, false};
    character = character << 6 | (byte(at + i) & 0x3fu);
  }
  return {row->length, character, true};
}

std::size_t first_ill_formed(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    if (!piece.well_formed) return at;
    at += piece.length;
  }
  return text.size();
}

bool is_control_character(char32_t c) {
  const bool turns = c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || turns;
}

std::string escape_controls(std::string_view text) {
  return escaped(text, false);
}

std::string escape_controls_one_line(std::string_view text) {
  return escaped(text, true);
}

std::string replace_ill_formed(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    out += piece.well_formed ? text.substr(at, piece.length) : "\xef\xbf\xbd";
    at += piece.length;
  }
  return out;
}

}  // namespace cleave
