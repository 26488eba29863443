#include "graph/array/read_value.h"

#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/array/npy.h"
#include "graph/array/range.h"
#include "graph/base/file.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"

namespace cleave {
namespace {

/// One JSON scalar as a T; nothing if it is neither a number, a bool nor one of the three words.
template <class T>
std::optional<T> convert(const JsonScalar& item) {
  using Type = JsonScalar::Type;
  if (item.type == Type::text) {
    if constexpr (std::is_integral_v<T>) return std::nullopt;
    if (item.text == "NaN") return T(std::numeric_limits<float>::quiet_NaN());
    if (item.text == "Infinity") return T(std::numeric_limits<float>::infinity());
    if (item.text == "-Infinity") return T(-std::numeric_limits<float>::infinity());
    return std::nullopt;
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (item.type != Type::boolean && item.type != Type::integer) return std::nullopt;
    return item.integer == 0 || item.integer == 1 ? std::optional(item.integer == 1) : std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    if (item.type != Type::integer || !std::in_range<T>(item.integer)) return std::nullopt;
    return static_cast<T>(item.integer);
  } else {
    if (!item.is_number() || out_of_range(item.number, DTypeOf<T>::value)) return std::nullopt;
    if constexpr (std::is_same_v<T, double>)
      return item.number;
    else
      return T(static_cast<float>(item.number));
  }
}

/// " at [1, 0]", the index of an element of a nested list; empty for the whole list.
std::string at_place(const Shape& path) {
  return path.empty() ? "" : " at " + to_string(path);
}

/// The mistake in `item`, the element at index `path` of a nested list of `shape`; nothing if there is none.
std::optional<std::string> misfit(const JsonTree::Item& item, const Shape& path, const Shape& shape) {
  const bool list = item.kind == JsonTree::Kind::list;
  if (path.size() == shape.size()) {
    if (item.kind == JsonTree::Kind::scalar) return std::nullopt;
    return "one number is expected" + at_place(path) + ", but " + (list ? "a list" : "an object") + " is given";
  }
  const std::int64_t wanted = shape[path.size()];
  if (list && static_cast<std::int64_t>(item.count) == wanted) return std::nullopt;
  const std::string what = path.size() + 1 == shape.size() ? "element" : "list";
  const std::string expected = std::to_string(wanted) + " " + what + (wanted == 1 ? " is" : "s are") + " expected" + at_place(path);
  if (!list) return expected + ", but no list is given";
  return expected + ", but " + std::to_string(item.count) + (item.count == 1 ? " is" : " are") + " given";
}

/// Collects the scalars of a nested list in row-major order. Returns the mistake if the list is not exactly of `shape`. Uses an explicit
/// stack instead of recursion.
std::optional<std::string> flatten(const JsonTree& tree, const Shape& shape, std::vector<std::size_t>& scalars) {
  struct Open {
    std::size_t item, depth;
    std::int64_t position;  ///< in the enclosing list
  };
  std::vector<Open> open{{0, 0, 0}};
  Shape path;
  while (!open.empty()) {
    const auto [index, depth, position] = open.back();
    open.pop_back();
    path.resize(depth);
    if (depth > 0) path.back() = position;
    if (std::optional<std::string> wrong = misfit(tree.items[index], path, shape)) return wrong;
    if (depth == shape.size()) {
      scalars.push_back(index);
      continue;
    }
    const std::vector<std::size_t> children = tree.children(index);
    for (std::size_t i = children.size(); i-- > 0;) open.push_back({children[i], depth + 1, static_cast<std::int64_t>(i)});
  }
  return std::nullopt;
}

/// The JSON text of an item.
std::string text_of(const JsonTree::Item& item) {
  std::string text;
  JsonWriter json(text);
  switch (item.scalar.type) {
    case JsonScalar::Type::null: json.value(nullptr); break;
    case JsonScalar::Type::boolean: json.value(item.scalar.integer != 0); break;
    case JsonScalar::Type::integer: json.value(item.scalar.integer); break;
    case JsonScalar::Type::real: json.value(item.scalar.number); break;
    case JsonScalar::Type::text: json.value(item.scalar.text); break;
  }
  return item.kind == JsonTree::Kind::scalar ? text : "{…}";
}

Result<Array> from_json(const JsonTree& tree, const TensorType& type) {
  std::vector<std::size_t> scalars;
  const bool fill = tree.items[0].kind != JsonTree::Kind::list;
  if (fill)
    scalars.push_back(0);
  else if (const auto problem = flatten(tree, type.shape, scalars))
    return Error{*problem, {}, ErrorKind::user};
  auto array = Array::allocate(type);
  if (!array) return array;
  const JsonTree::Item* refused = nullptr;
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array->template mutable_data<T>();
    const std::int64_t count = array->size();
    std::vector<T> converted;
    converted.reserve(scalars.size());
    for (const std::size_t index : scalars) {
      const JsonTree::Item& item = tree.items[index];
      const auto element = item.kind == JsonTree::Kind::scalar ? convert<T>(item.scalar) : std::nullopt;
      if (!element) {
        refused = &item;
        return;
      }
      converted.push_back(*element);
    }
    for (std::int64_t i = 0; i < count; ++i) out[i] = converted[fill ? 0 : static_cast<std::size_t>(i)];
  });
  if (refused)
    return Error{"`" + text_of(*refused) + "` is no value of type " + std::string(to_string(type.dtype)) +
                     (refused->scalar.is_number() && out_of_range(refused->scalar.number, type.dtype) ? "; " + range_text(type.dtype) : ""),
                 {},
                 ErrorKind::user};
  return array;
}

}  // namespace

Result<Array> read_value(const std::string& text, const TensorType& type, std::string_view name) {
  if (detail::is_data_file(text)) return detail::map_array(text, type, name, FileKind::any);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::result_out_of_range && end == text.data() + text.size())
    return Error{
        "`" + text + "` is no value of type " + std::string(to_string(type.dtype)) + "; " + range_text(type.dtype), {}, ErrorKind::user};
  const std::optional<JsonTree> value = JsonTree::parse(text);
  if (!value) return Error{"`" + text + "` is neither a JSON value nor a file of " + std::string(detail::kDataFiles), {}, ErrorKind::user};
  return from_json(*value, type);
}

}  // namespace cleave
