// Numbers to text and back, the same whatever locale the program that uses us has set. Everything that prints or reads a number that is
// not whole goes through here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// The shortest digits that read back as this very number, laid out as NumPy does: `1.0`, `0.001`, `1e-05`, `1e+16`, `nan`, `-inf`.
std::string shortest_text(double number);
std::string shortest_text(float number);
/// At most `digits` significant digits, as `%.3g` of C's printf.
std::string general_text(double number, int digits);
/// Always `decimals` behind the point, as `%.3f`.
std::string fixed_text(double number, int decimals);

/// The whole text as a number: `1`, `-2.5e3`, `inf`, `nan`. What is too small for the type is zero; nothing for what is too large, and for
/// what is no number.
std::optional<double> read_double(std::string_view text);
std::optional<float> read_float(std::string_view text);

}  // namespace cleave
