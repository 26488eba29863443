// Conversion of one element to another type, defined for every value, as `astype` specifies it.
#pragma once

#include <limits>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// To bool: not zero (NaN is true). Float to integer: truncates; saturates if out of range; NaN gives 0. Integer to a smaller one: wraps.
/// To a smaller float: rounds to nearest even.
template <class R, class S>
R convert(S element) {
  if constexpr (std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>) {
    return convert<R>(static_cast<float>(element));
  } else if constexpr (std::is_same_v<R, bool>) {
    return element != S{};
  } else if constexpr (std::is_same_v<R, Half> || std::is_same_v<R, BFloat16>) {
    return R(static_cast<float>(element));
  } else if constexpr (std::is_integral_v<R> && std::is_floating_point_v<S>) {
    constexpr auto low = static_cast<S>(std::numeric_limits<R>::min());
    constexpr auto high = static_cast<S>(std::numeric_limits<R>::max());  // may round up: then high itself does not fit
    if (element != element) return 0;
    if (element <= low) return std::numeric_limits<R>::min();
    if (element >= high) return std::numeric_limits<R>::max();
    return static_cast<R>(element);
  } else {
    return static_cast<R>(element);
  }
}

}  // namespace cleave::ops
