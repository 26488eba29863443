// Conversion of floating-point numbers to text and back, independent of the program's locale. All code that prints or reads such a number
// must use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// The shortest digits that read back as the same number, in NumPy's format: `1.0`, `0.001`, `1e-05`, `1e+16`, `nan`, `-inf`.
std::string shortest_text(double number);
std::string shortest_text(float number);
/// At most `digits` significant digits, as `%.3g` of C's printf.
std::string general_text(double number, int digits);
/// Exactly `decimals` digits behind the point, as `%.3f`.
std::string fixed_text(double number, int decimals);

/// The whole text as a number: `1`, `-2.5e3`, `inf`, `nan`. Underflow gives zero; overflow and text that is not a number give nothing.
std::optional<double> read_double(std::string_view text);
std::optional<float> read_float(std::string_view text);

}  // namespace cleave
