#include "graph/array/range.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace cleave {
namespace {

template <class T>
std::string shortest(T value) {
  char text[48];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class T>
std::string ends(T lowest, T highest) {
  return shortest(lowest) + " to " + shortest(highest);
}

}  // namespace

bool out_of_range(double value, DType dtype) {
  if (!std::isfinite(value)) return false;
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return value != 0 && value != 1;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr int digits = std::numeric_limits<T>::digits;
      // The first number that is too large: the largest T itself may not be representable as a double.
      const double highest = std::ldexp(1, digits);
      return value < static_cast<double>(std::numeric_limits<T>::min()) || (digits < 53 ? value > highest - 1 : value >= highest);
    } else if constexpr (std::is_same_v<T, double>) {
      return false;
    } else {
      return std::isinf(static_cast<float>(T(static_cast<float>(value))));
    }
  });
}

bool out_of_range(std::int64_t value, DType dtype) {
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>)
      return value != 0 && value != 1;
    else if constexpr (std::is_integral_v<T>)
      return !std::in_range<T>(value);
    else
      return out_of_range(static_cast<double>(value), dtype);
  });
}

bool holds(DType dtype, double value) {
  if (is_floating(dtype)) return !out_of_range(value, dtype);
  return std::isfinite(value) && value == std::trunc(value) && !out_of_range(value, dtype);
}

std::string range_text(DType dtype) {
  const std::string name = std::string(to_string(dtype)) + " holds ";
  return dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>)
      return name + "true and false";
    else if constexpr (std::is_same_v<T, Half>)
      return name + "-65504 to 65504";
    else if constexpr (std::is_same_v<T, BFloat16>)
      return name + ends(-0x1.fep127F, 0x1.fep127F);
    else
      return name + ends(std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  });
}

}  // namespace cleave
