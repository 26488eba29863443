// Positions that are computed: what indices and starts mean, for the meanings and for the kernels of the host. Negative ones count from the
// end; one that does not exist is an error of the run, never moved to where there is something.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// An index of any integer type; one too large for 64 bits with a sign is too large for every axis.
template <class Index>
std::int64_t to_position(Index index) {
  if constexpr (std::is_unsigned_v<Index> && sizeof(Index) == sizeof(std::int64_t)) {
    constexpr auto most = static_cast<Index>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(index < most ? index : most);
  } else {
    return static_cast<std::int64_t>(index);
  }
}

/// Where along an axis of `extent` the `room` elements from `index` on begin; -1: they are not all there.
inline std::int64_t place_of(std::int64_t index, std::int64_t extent, std::int64_t room = 1) {
  const std::int64_t place = index < 0 ? index + extent : index;
  return place >= 0 && place <= extent - room ? place : -1;
}

/// The window of an array of `shape` that `dynamic_update_slice` fills with an `update` of as many axes at most.
inline Shape window_shape(const Shape& shape, const Shape& update) {
  Shape window(shape.size() - update.size(), 1);
  window.insert(window.end(), update.begin(), update.end());
  return window;
}

/// What is wrong with a run in which they are not; `index` is its number, or `{}` where a device puts it.
inline std::string no_such_place(std::string_view op, const std::string& index, const Shape& shape) {
  return "`" + std::string(op) + "`: the index " + index + " is outside its axis of " + to_string(shape);
}
inline std::string no_such_window(std::string_view op, const std::string& start, const Shape& shape, const Shape& window) {
  return "`" + std::string(op) + "`: from the start " + start + " on, a window of " + to_string(window) + " does not lie within " +
         to_string(shape);
}

}  // namespace cleave::ops
