// Units: formats and parses quantities in bytes and seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace cleave {

/// "512 B", "64 KiB", "4.0 MiB": three significant digits at most.
[[nodiscard]] std::string format_bytes(double bytes);
/// "1.2 us", "0.41 s".
[[nodiscard]] std::string format_seconds(double seconds);

/// A number and the text behind it, without blanks: `{64, "KiB"}`. Nothing if the text does not begin with a number.
struct NumberWithUnit {
  double number = 0;
  std::string_view digits, unit;  ///< as spelled in the text
};
std::optional<NumberWithUnit> split_unit(std::string_view text);

/// The bytes of one `unit` (`kB`, `KiB`, `GB`, ...); no unit: 1. Models and machine files share this list.
std::optional<double> byte_unit(std::string_view unit);
/// For a unit that does not exist: "; did you mean `KiB`?", or the list of those that do.
std::string suggest_byte_unit(std::string_view unit);
/// A positive number of bytes, as in `16GiB`; else an Error (usage) that says what is wrong with the text.
Result<double> parse_bytes(std::string_view text);

}  // namespace cleave
