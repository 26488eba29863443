// Units: bytes and seconds as people read and write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// "512 B", "64 KiB", "4.0 MiB": three significant digits at most.
[[nodiscard]] std::string format_bytes(double bytes);
/// "1.2 us", "0.41 s".
[[nodiscard]] std::string format_seconds(double seconds);

/// A number and what stands behind it, blanks aside: `{64, "KiB"}`. Nothing if the text does not begin with a number.
struct NumberWithUnit {
  double number = 0;
  std::string_view digits, unit;  ///< as written
};
std::optional<NumberWithUnit> split_unit(std::string_view text);

/// The bytes of one `unit` (`kB`, `KiB`, `GB`, ...); of none: 1. The one list, for models and machine files.
std::optional<double> byte_unit(std::string_view unit);
/// For a unit that does not exist: "; did you mean `KiB`?", or the list of those that do.
std::string suggest_byte_unit(std::string_view unit);

}  // namespace cleave
