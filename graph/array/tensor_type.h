// Element types, shapes and tensor types, with overflow-checked sizes. Text form as in models: `f32[4, 2]`, `i32[]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, u8, boolean, i8, i16, u16, u32, u64 };
inline constexpr int kDTypeCount = 13;

/// IEEE binary16 and bfloat16 as storage; arithmetic converts to float (round to nearest even both ways).
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
};

[[nodiscard]] std::int64_t size_of(DType type);  ///< bytes of one element; bool is one byte
[[nodiscard]] std::string_view to_string(DType type);
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);
[[nodiscard]] bool is_floating(DType type);
[[nodiscard]] bool is_integer(DType type);  ///< of any size, with a sign or without; not bool
[[nodiscard]] bool is_signed(DType type);   ///< of the integers, those with a sign; floating types too
/// The type to which two operands are converted where their types differ: bool < integers < f16, bf16 < f32 < f64; f16 with bf16 gives f32.
/// Of two integers the larger; one without a sign and one with: the smallest that holds both (u8 with i8: i16; u32 with i32: i64). For u64
/// with a signed integer there is none (`have_common_type`); it gives i64.
[[nodiscard]] DType promote(DType a, DType b);
[[nodiscard]] bool have_common_type(DType a, DType b);

/// The C++ element type of a DType, and back.
template <DType>
struct NativeOf;
template <class T>
struct DTypeOf;
template <>
struct NativeOf<DType::f32> {
  using type = float;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct NativeOf<DType::f64> {
  using type = double;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct NativeOf<DType::f16> {
  using type = Half;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::f16;
};
template <>
struct NativeOf<DType::bf16> {
  using type = BFloat16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct NativeOf<DType::i32> {
  using type = std::int32_t;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct NativeOf<DType::i64> {
  using type = std::int64_t;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct NativeOf<DType::u8> {
  using type = std::uint8_t;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct NativeOf<DType::boolean> {
  using type = bool;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <>
struct NativeOf<DType::i8> {
  using type = std::int8_t;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct NativeOf<DType::i16> {
  using type = std::int16_t;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct NativeOf<DType::u16> {
  using type = std::uint16_t;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct NativeOf<DType::u32> {
  using type = std::uint32_t;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct NativeOf<DType::u64> {
  using type = std::uint64_t;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::u64;
};

/// Calls `f` with a value of the C++ element type of `type`: `dispatch(type, [&](auto zero) { using T = decltype(zero); … });`
template <class F>
decltype(auto) dispatch(DType type, F&& f) {
  switch (type) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::boolean: break;
  }
  return f(bool{});
}

using Shape = std::vector<std::int64_t>;  ///< row-major; empty: a scalar

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  [[nodiscard]] int rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] bool scalar() const { return shape.empty(); }
  /// Number of elements; 1 for a scalar. Only for types that `checked_bytes` accepts; all types in a Graph are such.
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const { return elements() * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Bytes of a tensor, or nothing if an extent is negative or the size passes 2^62 bytes.
[[nodiscard]] std::optional<std::int64_t> checked_bytes(const TensorType& type);
[[nodiscard]] std::string to_string(const Shape& shape);      ///< "[4, 2]"
[[nodiscard]] std::string to_string(const TensorType& type);  ///< "f32[4, 2]"
[[nodiscard]] std::optional<TensorType> parse_tensor_type(std::string_view text);
/// NumPy broadcasting of two shapes, or nothing if they do not fit.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// Row-major strides in elements.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(const Shape& shape);

}  // namespace cleave
