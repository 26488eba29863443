#include "partitioner/report/text_width.h"

#include "graph/base/utf8.h"

namespace cleave::planner {
namespace {

/// The width of a character as a fraction of the font's size.
double width_of(char32_t character) {
  if (character > 0x2e80) return 1.0;  // Chinese, Japanese and Korean characters, and symbols of that width
  if (character > 0x7e) return character == U'…' || character == U'—' ? 1.0 : 0.62;
  const auto letter = static_cast<char>(character);
  constexpr std::string_view kNarrow = "ijl'|", kSlim = " !,.:;/\\[]()It`fr-\"", kBroad = "mMW@%w", kRound = "ACDEGHKNOQRSUVXYBP&<>=+~";
  if (kNarrow.find(letter) != std::string_view::npos) return 0.25;
  if (kSlim.find(letter) != std::string_view::npos) return 0.34;
  if (kBroad.find(letter) != std::string_view::npos) return 0.88;
  return kRound.find(letter) != std::string_view::npos ? 0.70 : 0.56;
}

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    width += piece.well_formed ? width_of(piece.character) : 2.24;  // shown as `\x1b`
    at += piece.length;
  }
  constexpr double kRegular = 1.12, kBold = 1.26;  // DejaVu Sans, which stands in where none of them is installed, is broader
  return width * size * (bold ? kBold : kRegular);
}

}  // namespace cleave::planner
