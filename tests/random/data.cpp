// Data of random programs. The doors are random_array and random_indices; the rest is private.
#include "tests/random/data.h"

#include <algorithm>
#include <limits>

#include "graph/ops/convert.h"

namespace cleave::testing {
namespace {

/// The largest and the smallest normal number, and a denormal one, of a floating type.
struct Ends {
  double largest, smallest, denormal;
};
Ends ends_of(DType type) {
  switch (type) {
    case DType::f64: return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 5e-324};
    case DType::f16: return {65504, 0x1p-14, 0x1p-24};
    case DType::bf16: return {0x1.FEp127, 0x1p-126, 0x1p-133};
    default: return {std::numeric_limits<float>::max(), std::numeric_limits<float>::min(), 0x1p-149};
  }
}

double special_number(Draw& draw, DType type, Data data) {
  const Ends ends = ends_of(type);
  const double clean[] = {0.0, -0.0, 1, -1, 0.5, 2, ends.smallest, -ends.smallest, ends.denormal, -3 * ends.denormal};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double moderate[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  const double wild[] = {ends.largest, -ends.largest, ends.largest / 2, 2147483648.0, -2147483649.0, 255.5, 65505};
  if (data == Data::clean || draw.chance(0.5)) return draw.pick(clean);
  return data == Data::moderate || draw.chance(0.4) ? draw.pick(moderate) : draw.pick(wild);
}

template <class T>
T random_integer(Draw& draw, bool small, bool wild) {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const T special[] = {low, high, static_cast<T>(low + 1), static_cast<T>(high - 1), T{0}, T{1}, static_cast<T>(-1)};
  if (wild && draw.chance(0.3)) return draw.pick(special);
  if (wild && draw.chance(0.2)) return static_cast<T>(draw.bits());
  const std::int64_t bound = small ? 4 : 60;
  return static_cast<T>(draw.between(std::is_signed_v<T> ? -bound : 0, bound));
}

}  // namespace

Array random_array(Draw& draw, const TensorType& type, Data data) {
  Array array(type);
  const bool small = draw.chance(0.6);                    // few distinct values: ties are frequent, sums are exact
  const double specials = draw.chance(0.5) ? 0.15 : 0.0;  // most arrays that may have special values have none
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        out[i] = draw.chance(0.5);
      } else if constexpr (std::is_integral_v<T>) {
        out[i] = random_integer<T>(draw, small, data == Data::wild && specials > 0);
      } else {
        const double number = small ? static_cast<double>(draw.between(-16, 16)) / 4 : draw.real(-8, 8);
        out[i] = ops::convert<T>(draw.chance(specials) ? special_number(draw, type.dtype, data) : number);
      }
    }
  });
  return array;
}

Array random_indices(Draw& draw, const TensorType& type, std::int64_t extent) {
  Array array(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const std::int64_t low = std::is_signed_v<T> ? -extent : 0;
      out[i] = ops::convert<T>(std::clamp<std::int64_t>(draw.between(low, extent - 1), -100, 100));
    }
  });
  return array;
}

}  // namespace cleave::testing
