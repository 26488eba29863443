// Units of bytes as users write them behind a number: `64KiB`, `16 GB`. The one list, for models and machine files. (What we print:
// human_bytes.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// A number and what stands behind it, blanks aside: `{64, "KiB"}`. Nothing if the text does not begin with a number.
struct NumberWithUnit {
  double number = 0;
  std::string_view digits, unit;  ///< as written
};
std::optional<NumberWithUnit> split_unit(std::string_view text);

/// The bytes of one `unit`; of none: 1.
std::optional<double> byte_unit(std::string_view unit);
/// For a unit that does not exist: "; did you mean `KiB`?", or the list of those that do.
std::string suggest_byte_unit(std::string_view unit);

}  // namespace cleave
