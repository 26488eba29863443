// The width of a text in a font without serifs (Helvetica, Arial, DejaVu Sans), estimated by classes of characters.
#pragma once

#include <string_view>

namespace cleave::planner {

/// The width in the unit of `size`, the font's size: that of the broadest of these fonts, so that the text fits.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

}  // namespace cleave::planner
