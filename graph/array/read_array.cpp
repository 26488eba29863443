// read_array: data of a declared type, from a file of any kind.
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "graph/array/npy.h"
#include "graph/array/safetensors.h"
#include "graph/base/exceptions.h"
#include "graph/base/file.h"

namespace cleave {
namespace {

template <class T>
constexpr bool kFloating = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// An integer type that std::in_range accepts: int in place of bool.
template <class T>
using Counting = std::conditional_t<std::is_same_v<T, bool>, int, T>;

/// Half and BFloat16 as float; other types unchanged.
template <class T>
auto widen(T value) {
  if constexpr (kFloating<T> && !std::is_floating_point_v<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// The same number as a To, or nothing if To cannot represent it. Between floating types rounding is accepted, but no finite number may
/// become infinite.
template <class To, class From>
std::optional<To> convert(From from) {
  const auto value = widen(from);
  if constexpr (kFloating<To> && kFloating<From>) {
    To result(static_cast<decltype(widen(To{}))>(value));
    const bool overflowed = std::isfinite(value) && !std::isfinite(widen(result));
    return overflowed ? std::nullopt : std::optional(result);
  } else if constexpr (kFloating<To>) {
    To result(static_cast<decltype(widen(To{}))>(value));
    const std::optional<From> back = convert<From>(result);
    return back && *back == from ? std::optional(result) : std::nullopt;
  } else if constexpr (kFloating<From>) {
    // Exact bounds: -2^63 and 2^63 are doubles, 2^63 - 1 is not.
    const auto wide = static_cast<double>(value);
    const double limit = std::is_same_v<To, bool> ? 2.0 : std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double lowest = std::is_signed_v<To> ? -limit : 0.0;
    if (!(wide >= lowest && wide < limit) || wide != std::trunc(wide)) return std::nullopt;
    return static_cast<To>(wide);
  } else {
    const auto number = +value;  // promotes bool to int
    const bool fits = std::is_same_v<To, bool> ? number == 0 || number == 1 : std::in_range<Counting<To>>(number);
    return fits ? std::optional(static_cast<To>(number)) : std::nullopt;
  }
}

/// `result` filled with the converted values, or nothing if some value cannot be converted.
std::optional<Array> converted(const Array& array, Array result) {
  const bool survived = dispatch(array.dtype(), [&](auto from) {
    return dispatch(result.dtype(), [&](auto to) {
      auto* out = result.mutable_data<decltype(to)>();
      for (const auto value : array.values<decltype(from)>()) {
        const auto element = convert<decltype(to)>(value);
        if (!element) return false;
        *out++ = *element;
      }
      return true;
    });
  });
  return survived ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

bool detail::is_data_file(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".csv") || path.ends_with(".txt") || path.ends_with(".safetensors");
}

Result<Array> read_array(const std::string& path, const TensorType& type, std::string_view name) {
  return detail::read_array(path, type, name, FileKind::any);
}

Result<Array> detail::map_array(const std::string& path, const TensorType& type, std::string_view name, FileKind kind) {
  return detail::guard_memory([&]() -> Result<Array> {
    std::optional<Array> mapped;
    if (path.ends_with(".npy")) mapped = map_npy(path, type, kind);
    if (path.ends_with(".txt")) mapped = map_text(path, type, kind);
    if (mapped) return *std::move(mapped);
    return read_array(path, type, name, kind);
  });
}

Result<Array> detail::read_array(const std::string& path, const TensorType& type, std::string_view name, FileKind kind) {
  return detail::guard_memory([&]() -> Result<Array> {
    if (path.ends_with(".csv")) return read_csv(path, type, kind);
    if (path.ends_with(".txt")) return read_text(path, type, kind);
    if (!is_data_file(path)) return Error{"cannot read `" + path + "`: the name must end in " + std::string(kDataFiles), {}};
    Result<Array> array = path.ends_with(".npy") ? read_npy(path, type, kind) : read_safetensors(path, name);
    if (!array || array->type() == type) return array;
    if (array->shape() != type.shape) return detail::holds_another(path, array->type(), type);
    Result<Array> target = Array::allocate(type);
    if (!target) return target.error();
    std::optional<Array> result = converted(*array, *std::move(target));
    if (!result) return Error{detail::holds_another(path, array->type(), type).message + ", and not all values fit", {}};
    return *std::move(result);
  });
}

}  // namespace cleave
