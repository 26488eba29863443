// Body: one iteration of a compiled loop, as instructions of a vector machine with unlimited virtual registers. All lanes of a body have
// the same size, four or eight bytes; booleans are masks. Independent of the processor (emit.h knows it) and of op names (lower.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

enum class Kind : std::uint8_t { f32, f64, i32, i64, mask };

/// Bytes of a lane; 0 for a mask, which fits lanes of any size.
constexpr int lane_of(Kind kind) {
  return kind == Kind::mask ? 0 : kind == Kind::f32 || kind == Kind::i32 ? 4 : 8;
}
constexpr bool is_float(Kind kind) {
  return kind == Kind::f32 || kind == Kind::f64;
}
/// Nothing for element types without generated code.
constexpr std::optional<Kind> kind_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return Kind::f32;
    case DType::f64: return Kind::f64;
    case DType::i32: return Kind::i32;
    case DType::i64: return Kind::i64;
    case DType::boolean: return Kind::mask;
    default: return std::nullopt;
  }
}

/// Each is about one machine instruction. Masks are operands of `both` to `invert`, and the first operand of `choose`.
enum class Act : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  least,  ///< a < b ? a : b, so b if one is NaN
  most,   ///< a > b ? a : b
  square_root,
  round,    ///< `immediate`: the processor's rounding mode
  compare,  ///< of floats: `immediate` is the processor's predicate
  equal,    ///< of integers
  greater,  ///< of integers
  both,     ///< a & b
  either,
  differ,
  not_and,  ///< ~a & b
  invert,   ///< of a mask
  choose,   ///< a ? b : c, by lane
  to_float,
  to_integer,  ///< truncates; the smallest integer if the result does not fit
};

/// If an operand is NaN, `not_equal` and `unordered` are true and the others false; none signals an exception.
enum class Predicate : std::uint8_t {
  equal = 0x00,
  unordered = 0x03,
  not_equal = 0x04,
  less = 0x11,
  less_equal = 0x12,
  greater_equal = 0x1D,
  greater = 0x1E
};
enum class Rounding : std::uint8_t { nearest = 0x08, down = 0x09, up = 0x0A, to_zero = 0x0B };

using ValueIndex = std::uint16_t;

struct BodyValue {
  enum class Source : std::uint8_t { stream, scalar, literal, made };
  Source source = Source::made;
  Kind kind = Kind::f32;
  std::size_t origin = 0;  ///< of a stream or scalar: index of the group's value
  std::uint64_t bits = 0;  ///< literal
};

struct Instruction {
  Act act = Act::add;
  Kind kind = Kind::f32;  ///< of the operands; for `choose`, of the selected values
  std::uint8_t immediate = 0;
  ValueIndex result = 0;
  std::array<ValueIndex, 3> operands{};
  std::uint8_t count = 0;  ///< number of operands
};

struct Body {
  int lane = 0;  ///< bytes
  std::vector<BodyValue> values;
  std::vector<Instruction> instructions;
  std::vector<ValueIndex> stored;  ///< written after all loads of an iteration, so results may overlap operands of the same iteration

  ValueIndex add(const BodyValue& value) {
    values.push_back(value);
    return static_cast<ValueIndex>(values.size() - 1);
  }
};

}  // namespace cleave::runtime::host
