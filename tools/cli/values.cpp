#include "tools/cli/values.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "graph/array/npy.h"

namespace cleave::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// One JSON scalar as a double or integer; nothing if it is neither number, bool nor one of the three words.
template <class T>
std::optional<T> convert(const json& item) {
  if (item.is_string()) {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    const auto& word = item.get_ref<const std::string&>();
    if (word == "NaN") return T(std::numeric_limits<float>::quiet_NaN());
    if (word == "Infinity") return T(std::numeric_limits<float>::infinity());
    if (word == "-Infinity") return T(-std::numeric_limits<float>::infinity());
    return std::nullopt;
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (item.is_boolean()) return item.get<bool>();
    if (item.is_number_integer() && (item == 0 || item == 1)) return item == 1;
    return std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (!item.is_number_integer()) return std::nullopt;
    if (item.is_number_unsigned()) {
      const auto value = item.get<std::uint64_t>();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return std::nullopt;
      return static_cast<T>(value);
    }
    const auto value = item.get<std::int64_t>();
    if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
      return std::nullopt;
    return static_cast<T>(value);
  } else {
    if (!item.is_number()) return std::nullopt;
    if constexpr (std::is_same_v<T, double>)
      return item.get<double>();
    else
      return T(static_cast<float>(item.get<double>()));
  }
}

/// The scalars of a nested list in row-major order, if it is exactly of `shape`. Walks with a stack, not the machine's.
std::optional<std::string> flatten(const json& value, const Shape& shape, std::vector<const json*>& items) {
  std::vector<std::pair<const json*, std::size_t>> open{{&value, 0}};
  while (!open.empty()) {
    const auto [item, depth] = open.back();
    open.pop_back();
    if (depth == shape.size()) {
      if (item->is_array() || item->is_object()) return "nested deeper than " + to_string(shape);
      items.push_back(item);
      continue;
    }
    if (!item->is_array() || static_cast<std::int64_t>(item->size()) != shape[depth])
      return "a list of " + std::to_string(shape[depth]) + " is expected at depth " + std::to_string(depth + 1) + " for the shape " +
             to_string(shape);
    for (std::size_t i = item->size(); i-- > 0;) open.emplace_back(&(*item)[i], depth + 1);
  }
  return std::nullopt;
}

Result<Array> from_json(const json& value, const TensorType& type) {
  std::vector<const json*> items;
  const bool fill = !value.is_array();
  if (fill)
    items.push_back(&value);
  else if (const auto problem = flatten(value, type.shape, items))
    return Error{*problem, {}, ErrorKind::user};
  auto array = Array::allocate(type);
  if (!array) return array;
  const json* refused = nullptr;
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array->template mutable_data<T>();
    const std::int64_t count = array->size();
    std::vector<T> converted;
    converted.reserve(items.size());
    for (const json* item : items) {
      const auto element = convert<T>(*item);
      if (!element) {
        refused = item;
        return;
      }
      converted.push_back(*element);
    }
    for (std::int64_t i = 0; i < count; ++i) out[i] = converted[fill ? 0 : static_cast<std::size_t>(i)];
  });
  if (refused) return Error{"`" + refused->dump() + "` is no value of type " + std::string(to_string(type.dtype)), {}, ErrorKind::user};
  return array;
}

ordered_json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

template <class T>
ordered_json element_json(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return number_json(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, float>) {
    if (!std::isfinite(value)) return number_json(static_cast<double>(value));
    char text[32];  // the shortest decimal that reads back as this float, so that 0.1f prints as 0.1
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    double shortest = 0;
    std::from_chars(text, end, shortest);
    return shortest;
  } else if constexpr (std::is_same_v<T, double>) {
    return number_json(value);
  } else {
    return value;
  }
}

/// The list of dimension `depth` from element `offset` on. Recursion is bounded by the rank, which type rules bound.
template <class T>
ordered_json nested(const T* data, const Shape& shape, const std::vector<std::int64_t>& strides, std::size_t depth, std::int64_t offset) {
  if (depth == shape.size()) return element_json(data[offset]);
  ordered_json list = ordered_json::array();
  for (std::int64_t i = 0; i < shape[depth]; ++i) list.push_back(nested(data, shape, strides, depth + 1, offset + i * strides[depth]));
  return list;
}

}  // namespace

Result<Array> read_value(const std::string& text, const TensorType& type) {
  if (text.ends_with(".npy") || text.ends_with(".csv")) return read_array(text, type);
  int depth = 0;
  for (const char c : text) depth += c == '[';
  const json value = depth > 1'000'000 ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
  if (value.is_discarded()) return Error{"`" + text + "` is neither an .npy or .csv file nor a JSON value", {}, ErrorKind::user};
  return from_json(value, type);
}

ordered_json data_json(const Array& array) {
  return dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return nested(array.template data<T>(), array.shape(), row_major_strides(array.shape()), 0, 0);
  });
}

}  // namespace cleave::cli
