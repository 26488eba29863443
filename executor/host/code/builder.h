// Builder: appends instructions and constants to a body, so that the rules of lower.cpp read as expressions.
#pragma once

#include <bit>
#include <initializer_list>

#include "executor/host/code/body.h"
#include "executor/host/instructions.h"

namespace cleave::runtime::host {

class Builder {
 public:
  static constexpr ValueIndex kNone = 0xFFFF;  ///< no code exists for the operation

  /// Operations compute with elements of `kind`.
  Builder(Body& body, Kind kind, Instructions set) : body_(body), kind_(kind), set_(set) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Instructions set() const { return set_; }
  /// A builder for the same body that computes with another kind.
  [[nodiscard]] Builder computing(Kind kind) const { return {body_, kind, set_}; }

  ValueIndex of(Act act, std::initializer_list<ValueIndex> operands) { return add(act, kind_, kind_, 0, operands); }
  ValueIndex rounded(Rounding how, ValueIndex a) { return add(Act::round, kind_, kind_, static_cast<std::uint8_t>(how), {a}); }
  ValueIndex compare(Predicate predicate, ValueIndex a, ValueIndex b) {
    return add(Act::compare, kind_, Kind::mask, static_cast<std::uint8_t>(predicate), {a, b});
  }
  ValueIndex equal(ValueIndex a, ValueIndex b) { return add(Act::equal, kind_, Kind::mask, 0, {a, b}); }
  ValueIndex greater(ValueIndex a, ValueIndex b) { return add(Act::greater, kind_, Kind::mask, 0, {a, b}); }
  ValueIndex mask(Act act, std::initializer_list<ValueIndex> operands) { return add(act, Kind::mask, Kind::mask, 0, operands); }
  ValueIndex opposite(ValueIndex a) { return mask(Act::invert, {a}); }
  ValueIndex is_nan(ValueIndex a) { return compare(Predicate::unordered, a, a); }
  ValueIndex choose(ValueIndex condition, ValueIndex yes, ValueIndex no) { return of(Act::choose, {condition, yes, no}); }
  ValueIndex converted(Act act, ValueIndex a, Kind to) { return add(act, kind_, to, 0, {a}); }

  /// A constant of the builder's kind, or of `kind`.
  ValueIndex number(double number) { return number_of(kind_, number); }
  ValueIndex number_of(Kind kind, double number) {
    switch (kind) {
      case Kind::f32: return literal(kind, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
      case Kind::f64: return literal(kind, std::bit_cast<std::uint64_t>(number));
      default: return literal(kind, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
    }
  }
  ValueIndex literal(Kind kind, std::uint64_t bits) {
    if (lane_of(kind) == 4) bits &= 0xFFFFFFFF;
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const BodyValue& value = body_.values[i];
      if (value.source == BodyValue::Source::literal && value.kind == kind && value.bits == bits) return static_cast<ValueIndex>(i);
    }
    return body_.add({BodyValue::Source::literal, kind, 0, bits});
  }
  /// Masks of a float's sign bit, and of all other bits.
  ValueIndex sign_bit() { return literal(kind_, kind_ == Kind::f32 ? 0x80000000U : std::uint64_t{1} << 63); }
  ValueIndex magnitude_bits() { return literal(kind_, kind_ == Kind::f32 ? 0x7FFFFFFFU : ~(std::uint64_t{1} << 63)); }

 private:
  ValueIndex add(Act act, Kind kind, Kind result, std::uint8_t immediate, std::initializer_list<ValueIndex> operands) {
    Instruction made{act, kind, immediate, 0, {}, static_cast<std::uint8_t>(operands.size())};
    std::size_t at = 0;
    for (const ValueIndex operand : operands) made.operands[at++] = operand;
    made.result = body_.add({BodyValue::Source::made, result});
    body_.instructions.push_back(made);
    return made.result;
  }

  Body& body_;
  Kind kind_;
  Instructions set_;
};

}  // namespace cleave::runtime::host
