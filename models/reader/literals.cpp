#include "models/reader/literals.h"

#include <algorithm>
#include <limits>

#include "graph/array/range.h"
#include "graph/base/number_text.h"

namespace cleave::models {

bool append(LiteralList& list, const LiteralList& part) {
  if (list.shape.empty()) {
    list.shape = part.shape;
    list.shape.insert(list.shape.begin(), 0);
  } else if (!std::equal(list.shape.begin() + 1, list.shape.end(), part.shape.begin(), part.shape.end())) {
    return false;
  }
  ++list.shape[0];
  list.values.insert(list.values.end(), part.values.begin(), part.values.end());
  return true;
}

std::optional<DType> common_dtype(const std::vector<Literal>& values) {
  const auto has = [&](Literal::Type type) {
    return std::any_of(values.begin(), values.end(), [type](const Literal& literal) { return literal.type == type; });
  };
  const bool numbers = has(Literal::Type::integer) || has(Literal::Type::floating);
  if (has(Literal::Type::boolean)) return numbers ? std::nullopt : std::optional(DType::boolean);
  if (has(Literal::Type::floating) || !numbers) return DType::f32;
  const bool small = std::all_of(values.begin(), values.end(), [](const Literal& literal) { return fits(literal, DType::i32); });
  return small ? DType::i32 : DType::i64;
}

bool fits(const Literal& literal, DType dtype) {
  if (dtype == DType::boolean) return literal.type == Literal::Type::boolean;
  if (literal.type == Literal::Type::boolean) return false;
  if (is_floating(dtype)) return !out_of_range(to_double(literal), dtype);
  if (literal.type == Literal::Type::floating) return false;
  return !out_of_range(literal.integer, dtype);
}

std::optional<Array> to_array(const LiteralList& list, DType dtype, std::string* wrong) {
  for (const Literal& literal : list.values) {
    if (fits(literal, dtype)) continue;
    *wrong = spelled(literal);
    return std::nullopt;
  }
  Array array(TensorType{dtype, list.shape});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (const Literal& literal : list.values) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        *out++ = T(static_cast<float>(to_double(literal)));
      } else if constexpr (std::is_floating_point_v<T>) {
        *out++ = static_cast<T>(to_double(literal));
      } else {
        *out++ = static_cast<T>(literal.integer);
      }
    }
  });
  return array;
}

std::string spelled(const Literal& literal) {
  if (literal.type == Literal::Type::boolean) return literal.integer ? "true" : "false";
  if (literal.type == Literal::Type::integer) return std::to_string(literal.integer);
  return general_text(literal.floating, 9);
}

}  // namespace cleave::models
