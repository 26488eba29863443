// Computed positions: interpretation of indices and window starts, for reference implementations and host kernels. Negative ones count from
// the end. A position out of range is a run-time error; it is never clamped.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// Reads an index of any integer type; values beyond int64 are out of range for every axis.
template <class Index>
std::int64_t to_position(Index index) {
  if constexpr (std::is_unsigned_v<Index> && sizeof(Index) == sizeof(std::int64_t)) {
    constexpr auto most = static_cast<Index>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(index < most ? index : most);
  } else {
    return static_cast<std::int64_t>(index);
  }
}

/// Start of the `room` elements from `index` on, along an axis of `extent`; -1 if some of them are out of range.
inline std::int64_t place_of(std::int64_t index, std::int64_t extent, std::int64_t room = 1) {
  const std::int64_t place = index < 0 ? index + extent : index;
  return place >= 0 && place <= extent - room ? place : -1;
}

/// The extents of the window that `dynamic_update_slice` overwrites in an array of `shape`; the update has at most as many axes.
inline Shape window_shape(const Shape& shape, const Shape& update) {
  Shape window(shape.size() - update.size(), 1);
  window.insert(window.end(), update.begin(), update.end());
  return window;
}

/// The message for an index out of range; `index` is the number, or `{}` as a placeholder that a device fills in.
inline std::string no_such_place(std::string_view op, const std::string& index, const Shape& shape) {
  return "`" + std::string(op) + "`: the index " + index + " is outside its axis of " + to_string(shape);
}
inline std::string no_such_window(std::string_view op, const std::string& start, const Shape& shape, const Shape& window) {
  return "`" + std::string(op) + "`: from the start " + start + " on, a window of " + to_string(window) + " does not lie within " +
         to_string(shape);
}

}  // namespace cleave::ops
