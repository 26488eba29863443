// An Array's values as text on one line: NumPy's numbers and its shortening, commas between elements.
#include <array>
#include <charconv>
#include <type_traits>

#include "graph/array/array.h"

namespace cleave {
namespace {

constexpr std::int64_t kThreshold = 1000;  ///< elements from which arrays are shortened
constexpr std::int64_t kEdge = 3;          ///< elements kept at each end of a shortened axis
constexpr int kArrayDigits = 8;            ///< significant digits inside arrays; a scalar shows all it has

/// Puts the decimal point into `digits` (d.ddd times ten to the `exponent`).
std::string lay_out(std::string digits, int exponent) {
  if (exponent < -4 || exponent >= 16) {
    std::string text = digits.substr(0, 1);
    if (digits.size() > 1) text += "." + digits.substr(1);
    int magnitude = exponent < 0 ? -exponent : exponent;
    return text + (exponent < 0 ? "e-" : "e+") + (magnitude < 10 ? "0" : "") + std::to_string(magnitude);
  }
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

/// The shortest digits that read back as `value`, or `most` rounded ones if there are more.
template <class T>
std::string number(T value, int most) {
  if (value != value) return "nan";
  if (value - value != T(0)) return value > T(0) ? "inf" : "-inf";
  std::array<char, 64> buffer;
  char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string text(buffer.data(), end);
  std::size_t e = text.find('e');
  std::size_t digit_count = e - (text[0] == '-' ? 1u : 0u) - (text.find('.') != std::string::npos ? 1u : 0u);
  if (static_cast<int>(digit_count) > most) {
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, most - 1).ptr;
    text.assign(buffer.data(), end);
    e = text.find('e');
  }
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  int exponent = std::stoi(text.substr(e + 1));
  return (text[0] == '-' ? "-" : "") + lay_out(std::move(digits), exponent);
}

/// As `number`, but the digits need to tell `value` only from its neighbours in the short type.
template <class Short>
std::string short_number(Short value) {
  const auto wide = static_cast<float>(value);
  for (int digits = 1; wide - wide == 0.0F; ++digits) {  // ends: nine digits tell floats apart
    std::array<char, 64> buffer;
    const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), wide, std::chars_format::scientific, digits - 1).ptr;
    float rounded = 0;
    std::from_chars(buffer.data(), end, rounded);
    if (Short(rounded).bits == value.bits) return number(rounded, kArrayDigits);
  }
  return number(wide, kArrayDigits);
}

std::string element(const Array& array, std::int64_t index, int digits) {
  return dispatch(array.dtype(), [&](auto zero) -> std::string {
    using T = decltype(zero);
    const T value = array.data<T>()[index];
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return short_number(value);
    } else {
      return number(value, digits);
    }
  });
}

}  // namespace

std::string to_string(const Array& array) {
  const Shape& shape = array.shape();
  if (shape.empty()) return element(array, 0, 17);
  if (array.size() == 0) return "[]";
  const bool shorten = array.size() > kThreshold;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  std::string text(shape.size(), '[');
  std::int64_t flat = 0;
  while (true) {
    text += element(array, flat, kArrayDigits);
    std::size_t axis = shape.size();
    while (axis > 0 && index[axis - 1] + 1 == shape[axis - 1]) {  // this axis is through
      flat -= index[axis - 1] * strides[axis - 1];
      index[axis - 1] = 0;
      text += ']';
      --axis;
    }
    if (axis == 0) return text;
    --axis;
    text += ", ";
    std::int64_t step = 1;
    if (shorten && index[axis] + 1 == kEdge && shape[axis] > 2 * kEdge) {
      text += "..., ";
      step = shape[axis] - 2 * kEdge + 1;
    }
    index[axis] += step;
    flat += step * strides[axis];
    text.append(shape.size() - 1 - axis, '[');
  }
}

}  // namespace cleave
