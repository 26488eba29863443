// Loops of floor_divide and remainder over floating-point numbers and integers for each instruction set.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/division.cpp"
#include <hwy/foreach_target.h>
#endif

#include <algorithm>
#include <cstring>

#include "executor/host/independent.h"
#include "executor/host/simd/loops.h"
#include "graph/ops/elementwise.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/division-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

#include "executor/host/plain_loops-inl.h"
#include "executor/host/simd/function_loops-inl.h"

/// Division of u8, vectorised by the compiler: rounding in f32 never carries a quotient of bytes to the next integer.
template <class Scalar>
struct ByBytes {
  static constexpr int arity = 2;
  static constexpr bool predicate = false;
  template <class C>
  static C apply(C a, C b, C = C()) {
    const int dividend = a.value(), divisor = b.value() == 0 ? 1 : b.value();
    const int quotient = static_cast<int>(static_cast<float>(dividend) / static_cast<float>(divisor));
    if constexpr (std::is_same_v<Scalar, scalars::Remainder>) return C(dividend - quotient * divisor);
    return C(b.value() == 0 ? 0 : quotient);
  }
};

template <class OfFloats, class OfIntegers, class Scalar>
RowLoop find_for(DType operand) {
  switch (operand) {
    case DType::f32: return loop<OfFloats, Scalar, false, float>;
    case DType::f64: return loop<OfFloats, Scalar, false, double>;
    case DType::i32: return loop<OfIntegers, Scalar, false, std::int32_t>;
    case DType::i64: return loop<OfIntegers, Scalar, false, std::int64_t>;
    case DType::u8: return plain_loop<ByBytes<Scalar>, std::uint8_t>;
    default: return nullptr;
  }
}

RowLoop find(std::string_view op, DType operand) {
  if (op == scalars::FloorDivide::name) return find_for<QuotientOfFloats, DivisionOfIntegers<false>, scalars::FloorDivide>(operand);
  if (op == scalars::Remainder::name) return find_for<RemainderOfFloats, DivisionOfIntegers<true>, scalars::Remainder>(operand);
  return nullptr;
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

RowLoop division_loop([[maybe_unused]] Level level, [[maybe_unused]] std::string_view op, [[maybe_unused]] DType operand) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(op, operand));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
