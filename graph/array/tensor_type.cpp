// Element types, shapes and tensor types with their text form. Half and bfloat16 conversion: float16.cpp.
#include "graph/array/tensor_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

#include "graph/base/check.h"

namespace cleave {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::int64_t size;
};
constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{{"f32", 4},
                                                      {"f64", 8},
                                                      {"f16", 2},
                                                      {"bf16", 2},
                                                      {"i32", 4},
                                                      {"i64", 8},
                                                      {"u8", 1},
                                                      {"bool", 1},
                                                      {"i8", 1},
                                                      {"i16", 2},
                                                      {"u16", 2},
                                                      {"u32", 4},
                                                      {"u64", 8}}};

const DTypeInfo& info_of(DType type) {
  return kDTypes[static_cast<std::size_t>(type)];
}

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool take(std::string_view& text, char wanted) {
  skip_spaces(text);
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_extent(std::string_view& text) {
  skip_spaces(text);
  std::int64_t extent = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return extent;
}

}  // namespace

std::int64_t size_of(DType type) {
  return info_of(type).size;
}
std::string_view to_string(DType type) {
  return info_of(type).name;
}
bool is_floating(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}
bool is_integer(DType type) {
  return !is_floating(type) && type != DType::boolean;
}
bool is_signed(DType type) {
  return dispatch(type, [](auto zero) { return !std::is_integral_v<decltype(zero)> || std::is_signed_v<decltype(zero)>; });
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (size_of(a) == size_of(b) && is_floating(a)) return DType::f32;  // f16 with bf16
  if (is_signed(a) == is_signed(b)) return size_of(a) > size_of(b) ? a : b;
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  return size_of(without) == 1 ? DType::i16 : size_of(without) == 2 ? DType::i32 : DType::i64;
}

bool have_common_type(DType a, DType b) {
  const auto fits = [](DType large, DType other) { return large != DType::u64 || !is_integer(other) || !is_signed(other); };
  return fits(a, b) && fits(b, a);
}

std::int64_t TensorType::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

std::optional<std::int64_t> checked_bytes(const TensorType& type) {
  // Extents of zero are multiplied as one, because the strides of an empty tensor must not overflow either.
  std::int64_t bytes = size_of(type.dtype);
  bool empty = false;
  for (std::int64_t extent : type.shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
    if (extent > 1 && bytes > kMaxBytes / extent) return std::nullopt;
    bytes *= std::max<std::int64_t>(extent, 1);
  }
  return empty ? 0 : bytes;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(to_string(type.dtype)) + to_string(type.shape);
}

std::optional<TensorType> parse_tensor_type(std::string_view text) {
  skip_spaces(text);
  std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos) return std::nullopt;
  std::optional<DType> dtype = parse_dtype(text.substr(0, bracket));
  if (!dtype) return std::nullopt;
  text.remove_prefix(bracket + 1);
  TensorType type{*dtype, {}};
  if (!take(text, ']')) {
    do {
      std::optional<std::int64_t> extent = take_extent(text);
      if (!extent) return std::nullopt;
      type.shape.push_back(*extent);
    } while (take(text, ','));
    if (!take(text, ']')) return std::nullopt;
  }
  skip_spaces(text);
  if (!text.empty() || !checked_bytes(type)) return std::nullopt;
  return type;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[offset + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      return std::nullopt;
    }
  }
  return result;
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * std::max<std::int64_t>(shape[i - 1], 1);
  return strides;
}

}  // namespace cleave
