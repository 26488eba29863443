#include "models/onnx/dequantized_constant.h"

#include <type_traits>
#include <vector>

namespace cleave::models::onnx {
namespace {

/// The elements of an array as `T`.
template <class T>
std::vector<T> elements_as(const Array& array) {
  std::vector<T> values(static_cast<std::size_t>(array.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(array.at(static_cast<std::int64_t>(i)));
  return values;
}

/// The layout of x around the axis of its scales: `before` slices of `extent` rows of `behind` elements each.
struct AxisLayout {
  std::int64_t before = 1, extent = 1, behind = 1;
  AxisLayout(const Shape& shape, std::int64_t axis) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      (at < axis ? before : at == axis ? extent : behind) *= shape[i];
    }
  }
};

/// An element minus its zero point. Differences of i32 wrap, as in ONNX.
template <class X, class Wide>
Wide centred_element(X x, double zero) {
  if constexpr (std::is_same_v<X, std::int32_t>)
    return static_cast<Wide>(static_cast<std::int32_t>(std::int64_t{x} - static_cast<std::int64_t>(zero)));
  else if constexpr (std::is_same_v<X, Half>)
    return static_cast<Wide>(static_cast<float>(x)) - static_cast<Wide>(zero);
  else
    return static_cast<Wide>(x) - static_cast<Wide>(zero);
}

/// Writes one row of elements; element i has the scale and zero point `i * step` places behind the first.
template <class X, class Wide, class Scale>
void write_row(const X* x, Scale* to, std::int64_t count, const Wide* scale, const double* zero, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Scale(centred_element<X, Wide>(x[i], zero ? zero[i * step] : 0) * scale[i * step]);
}

template <class X, class Scale>
Result<Array> computed(const Array& x, const Array& scale, const std::optional<Array>& zero_point, const Granularity& by) {
  using Wide = std::conditional_t<std::is_same_v<Scale, double>, double, float>;
  Result<Array> result = Array::allocate({scale.dtype(), x.shape()});
  if (!result || x.size() == 0) return result;
  const std::vector<Wide> scales = elements_as<Wide>(scale);
  const std::vector<double> zeros = zero_point ? elements_as<double>(*zero_point) : std::vector<double>();
  const X* from = x.data<X>();
  Scale* to = result->mutable_data<Scale>();
  if (scales.size() == 1) {
    write_row(from, to, x.size(), scales.data(), zeros.empty() ? nullptr : zeros.data(), 0);
    return result;
  }
  const AxisLayout layout(x.shape(), by.axis);
  const std::int64_t blocks = by.block > 0 ? (layout.extent + by.block - 1) / by.block : 0;
  for (std::int64_t row = 0; row < layout.before * layout.extent; ++row) {
    const std::int64_t place = row % layout.extent;
    const std::int64_t first = blocks > 0 ? (row / layout.extent * blocks + place / by.block) * layout.behind : place;
    write_row(from, to, layout.behind, scales.data() + first, zeros.empty() ? nullptr : zeros.data() + first, blocks > 0 ? 1 : 0);
    from += layout.behind;
    to += layout.behind;
  }
  return result;
}

template <class X>
Result<Array> of_elements(const Array& x, const Array& scale, const std::optional<Array>& zero_point, const Granularity& by) {
  switch (scale.dtype()) {
    case DType::f16: return computed<X, Half>(x, scale, zero_point, by);
    case DType::bf16: return computed<X, BFloat16>(x, scale, zero_point, by);
    case DType::f64: return computed<X, double>(x, scale, zero_point, by);
    default: return computed<X, float>(x, scale, zero_point, by);
  }
}

}  // namespace

Result<Array> dequantized(const Array& x, const Array& scale, const std::optional<Array>& zero_point, const Granularity& by) {
  switch (x.dtype()) {
    case DType::i8: return of_elements<std::int8_t>(x, scale, zero_point, by);
    case DType::u8: return of_elements<std::uint8_t>(x, scale, zero_point, by);
    case DType::i16: return of_elements<std::int16_t>(x, scale, zero_point, by);
    case DType::u16: return of_elements<std::uint16_t>(x, scale, zero_point, by);
    case DType::i32: return of_elements<std::int32_t>(x, scale, zero_point, by);
    case DType::f16: return of_elements<Half>(x, scale, zero_point, by);
    default: return of_elements<float>(x, scale, zero_point, by);
  }
}

}  // namespace cleave::models::onnx
