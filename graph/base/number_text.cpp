#include "graph/base/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace cleave {
namespace {

constexpr int kSmallestExponent = -4, kLargestExponent = 15;  ///< decimal exponents beyond which scientific notation is used
constexpr std::size_t kLongestNumber = 400;                   ///< the largest double has 309 digits

/// Puts the decimal point into `digits` (d.ddd times ten to the `exponent`).
std::string with_point(std::string digits, int exponent) {
  if (exponent < kSmallestExponent || exponent > kLargestExponent) {
    if (digits.size() > 1) digits.insert(1, 1, '.');
    const int magnitude = std::abs(exponent);
    return digits + (exponent < 0 ? "e-" : "e+") + (magnitude < 10 ? "0" : "") + std::to_string(magnitude);
  }
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.insert(whole, 1, '.');
}

template <class T>
std::string shortest(T number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number), std::chars_format::scientific).ptr;
  const char* begin = buffer.data();
  const char* e = std::find(begin, end, 'e');
  std::string digits(begin, begin + 1);
  if (e > begin + 1) digits.append(begin + 2, e);
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  return (std::signbit(number) ? "-" : "") + with_point(std::move(digits), exponent);
}

std::string with_precision(double number, std::chars_format format, int precision) {
  std::array<char, kLongestNumber> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format, precision).ptr};
}

/// For text out of the type's range: whether its magnitude is below one (underflow) rather than above (overflow).
bool is_tiny(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  long exponent = 0;
  if (e < text.size()) {
    const char* begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    if (std::from_chars(begin, text.data() + text.size(), exponent).ec != std::errc()) return *begin == '-';
  }
  return exponent + static_cast<long>(point) - static_cast<long>(first) < 0;
}

template <class T>
std::optional<T> read(std::string_view text) {
  T number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, number);
  if (rest != end || wrong == std::errc::invalid_argument) return std::nullopt;
  if (wrong != std::errc::result_out_of_range) return number;
  if (!is_tiny(text)) return std::nullopt;
  return text.front() == '-' ? -T(0) : T(0);
}

}  // namespace

std::string shortest_text(double number) {
  return shortest(number);
}
std::string shortest_text(float number) {
  return shortest(number);
}
std::string general_text(double number, int digits) {
  return with_precision(number, std::chars_format::general, digits);
}
std::string fixed_text(double number, int decimals) {
  return with_precision(number, std::chars_format::fixed, decimals);
}
std::optional<double> read_double(std::string_view text) {
  return read<double>(text);
}
std::optional<float> read_float(std::string_view text) {
  return read<float>(text);
}

}  // namespace cleave
