#include "graph/array/range.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace cleave {
namespace {

template <class T>
std::string shortest(T value) {
  char text[48];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class T>
std::string ends(T lowest, T highest) {
  return shortest(lowest) + " to " + shortest(highest);
}

}  // namespace

bool out_of_range(double value, DType dtype) {
  if (!std::isfinite(value)) return false;
  switch (dtype) {
    case DType::f64: return false;
    case DType::f32: return std::isinf(static_cast<float>(value));
    case DType::f16: return std::isinf(static_cast<float>(Half(static_cast<float>(value))));
    case DType::bf16: return std::isinf(static_cast<float>(BFloat16(static_cast<float>(value))));
    case DType::i64: return value < -0x1p63 || value >= 0x1p63;
    case DType::i32: return value < -0x1p31 || value >= 0x1p31;
    case DType::u8: return value < 0 || value > 255;
    case DType::boolean: break;
  }
  return value != 0 && value != 1;
}

std::string range_text(DType dtype) {
  const std::string name = std::string(to_string(dtype)) + " holds ";
  switch (dtype) {
    case DType::f64: return name + ends(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
    case DType::f32: return name + ends(std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
    case DType::f16: return name + "-65504 to 65504";
    case DType::bf16: return name + ends(-0x1.fep127F, 0x1.fep127F);
    case DType::i64: return name + ends(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    case DType::i32: return name + ends(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    case DType::u8: return name + "0 to 255";
    case DType::boolean: break;
  }
  return name + "true and false";
}

}  // namespace cleave
