// Body: what one turn of a compiled loop does, as the instructions of a machine with vectors and as many registers as one likes. Lanes of
// one size, four or eight bytes; truth values are masks. Knows no processor (emit.h does) and no op by name (lower.h does).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

enum class Kind : std::uint8_t { f32, f64, i32, i64, mask };

/// Bytes of a lane; a mask has lanes of any size.
constexpr int lane_of(Kind kind) {
  return kind == Kind::mask ? 0 : kind == Kind::f32 || kind == Kind::i32 ? 4 : 8;
}
constexpr bool is_float(Kind kind) {
  return kind == Kind::f32 || kind == Kind::f64;
}
/// Nothing: elements that no code is made for.
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

/// Each is one instruction, or nearly. Of masks: `both` to `not_and`, and as the first operand of `choose`.
enum class Act : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  least,  ///< a < b ? a : b, so b where one is NaN
  most,   ///< a > b ? a : b
  square_root,
  round,    ///< `immediate`: how, as the processor has it
  compare,  ///< floats: `immediate` is the processor's predicate
  equal,    ///< integers
  greater,  ///< integers
  both,     ///< bits of a and b
  either,
  differ,
  not_and,  ///< not a, and b
  invert,   ///< of masks
  choose,   ///< a ? b : c
  to_float,
  to_integer,  ///< towards zero; the smallest integer where that does not fit
};

/// Predicates that are false, and `not_equal` and `unordered` true, where an operand is NaN; none raises a signal.
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
  std::size_t origin = 0;  ///< stream, scalar: the group's value
  std::uint64_t bits = 0;  ///< literal
};

struct Instruction {
  Act act = Act::add;
  Kind kind = Kind::f32;  ///< of what it computes with; of a `choose` what is chosen
  std::uint8_t immediate = 0;
  ValueIndex result = 0;
  std::array<ValueIndex, 3> operands{};
  std::uint8_t count = 0;  ///< of operands
};

struct Body {
  int lane = 0;  ///< bytes
  std::vector<BodyValue> values;
  std::vector<Instruction> instructions;
  std::vector<ValueIndex> stored;  ///< at the end of a turn, so results may lie on top of what the turn reads

  ValueIndex add(const BodyValue& value) {
    values.push_back(value);
    return static_cast<ValueIndex>(values.size() - 1);
  }
};

}  // namespace cleave::runtime::host
