// Formats an Array's values as text on one line: numbers that read back exactly, shortened as NumPy does, with commas between elements.
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "graph/array/array.h"
#include "graph/base/number_text.h"

namespace cleave {
namespace {

constexpr std::int64_t kThreshold = 1000;  ///< arrays with more elements are shortened
constexpr std::int64_t kEdge = 3;          ///< elements kept at each end of a shortened axis

/// The fewest digits that distinguish `value` from its neighbors in the short type.
template <class Short>
std::string short_text(Short value) {
  const auto wide = static_cast<float>(value);
  for (int digits = 1; std::isfinite(wide); ++digits) {  // ends: nine digits distinguish all floats
    std::array<char, 64> buffer;
    const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), wide, std::chars_format::scientific, digits - 1).ptr;
    float rounded = 0;
    std::from_chars(buffer.data(), end, rounded);
    if (Short(rounded).bits == value.bits) return shortest_text(rounded);
  }
  return shortest_text(wide);
}

std::string element(const Array& array, std::int64_t index) {
  return dispatch(array.dtype(), [&](auto zero) -> std::string {
    using T = decltype(zero);
    const T value = array.data<T>()[index];
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return short_text(value);
    } else {
      return shortest_text(value);
    }
  });
}

}  // namespace

std::string to_string(const Array& array) {
  const Shape& shape = array.shape();
  if (shape.empty()) return element(array, 0);
  if (array.size() == 0) return "[]";
  const bool shorten = array.size() > kThreshold;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  std::string text(shape.size(), '[');
  std::int64_t flat = 0;
  while (true) {
    text += element(array, flat);
    std::size_t axis = shape.size();
    while (axis > 0 && index[axis - 1] + 1 == shape[axis - 1]) {  // the end of this axis
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
