// Floor division and its remainder on vectors, bit for bit as the scalar reference (graph/ops/scalars.h). Compiled once for each target.
#if defined(CLEAVE_SIMD_DIVISION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_DIVISION_INL_H
#undef CLEAVE_SIMD_DIVISION_INL_H
#else
#define CLEAVE_SIMD_DIVISION_INL_H
#endif

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {

/// fmod for quotients so small that the rounded quotient is off by at most one: the remainder from a fused multiply-add is then exact, or
/// negative, in which case one divisor is missing.
template <class D, class V>
HWY_INLINE V exact_rest(D d, V a, V b) {
  const V dividend = hn::Abs(a), divisor = hn::Abs(b), quotient = hn::Trunc(hn::Div(dividend, divisor));
  const V rest = hn::NegMulAdd(quotient, divisor, dividend);
  const V positive = hn::IfThenElse(hn::Lt(rest, hn::Zero(d)), hn::Add(rest, divisor), rest);
  return hn::CopySign(hn::IfThenElse(hn::Lt(dividend, divisor), dividend, positive), a);  // the divisor may be infinite
}
template <class D, class V>
HWY_INLINE auto quotient_is_small(D d, V a, V b) {
  using T = hn::TFromD<D>;
  return hn::Lt(hn::Abs(hn::Div(a, b)), hn::Set(d, kSingle<T> ? T(0x1p22) : T(0x1p51)));
}
/// Whether the remainder's sign differs from the divisor's.
template <class D, class V>
HWY_INLINE auto signs_differ(D d, V rest, V b) {
  const V zero = hn::Zero(d);
  return hn::And(hn::Ne(rest, zero), hn::Xor(hn::Lt(rest, zero), hn::Lt(b, zero)));
}

struct RemainderOfFloats {
  template <class D, class V>
  static HWY_INLINE V of(D d, V a, V b) {
    const V rest = exact_rest(d, a, b), zero = hn::Zero(d);
    const V same_sign = hn::IfThenElse(signs_differ(d, rest, b), hn::Add(rest, b), rest);
    return hn::IfThenElse(hn::Eq(rest, zero), hn::CopySign(zero, b), same_sign);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V a, V b) {
    return quotient_is_small(d, a, b);
  }
};

struct QuotientOfFloats {
  template <class D, class V>
  static HWY_INLINE V of(D d, V a, V b) {
    using T = hn::TFromD<D>;
    const V rest = exact_rest(d, a, b), zero = hn::Zero(d), one = hn::Set(d, T(1));
    V quotient = hn::Div(hn::Sub(a, rest), b);
    quotient = hn::IfThenElse(signs_differ(d, rest, b), hn::Sub(quotient, one), quotient);
    const V whole = hn::Floor(quotient);
    const V nearest = hn::IfThenElse(hn::Gt(hn::Sub(quotient, whole), hn::Set(d, T(0.5))), hn::Add(whole, one), whole);
    return hn::IfThenElse(hn::Eq(quotient, zero), hn::CopySign(zero, hn::Xor(a, b)), nearest);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V a, V b) {
    return quotient_is_small(d, a, b);
  }
};

/// The floor quotient and the remainder of integers that doubles represent exactly.
template <class V>
struct Divided {
  V quotient, rest;
};
template <class D, class V>
HWY_INLINE Divided<V> divide_down(D d, V a, V b) {
  const V quotient = hn::Floor(hn::Div(a, b)), rest = hn::NegMulAdd(quotient, b, a);
  const auto rounded_up = signs_differ(d, rest, b);
  return {hn::IfThenElse(rounded_up, hn::Sub(quotient, hn::Set(d, 1.0)), quotient), hn::IfThenElse(rounded_up, hn::Add(rest, b), rest)};
}

/// Replaces divisors 0 and -1 by 1, for which everything is exact and the remainder is 0; the quotients for 0 and -1 are selected
/// afterwards.
template <bool remainder>
struct DivisionOfIntegers {
  template <class D, class V>
  static HWY_INLINE V of(D d, V a, V b) {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d);
    const auto by_zero = hn::Eq(b, zero), by_minus_one = hn::Eq(b, hn::Set(d, T(-1)));
    const V divisor = hn::IfThenElse(hn::Or(by_zero, by_minus_one), hn::Set(d, T(1)), b);
    const V result = divide(d, a, divisor);
    if constexpr (remainder) return result;
    return hn::IfThenZeroElse(by_zero, hn::IfThenElse(by_minus_one, hn::Sub(zero, a), result));
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V a, V b) {
    using T = hn::TFromD<D>;
    if constexpr (sizeof(T) == 4) {
      return hn::Eq(a, a);
    } else {
      const V most = hn::Set(d, T(1) << 50), least = hn::Set(d, -(T(1) << 50));
      return hn::And(hn::And(hn::Lt(a, most), hn::Gt(a, least)), hn::And(hn::Lt(b, most), hn::Gt(b, least)));
    }
  }

 private:
  template <class D, class V>
  static HWY_INLINE V divide(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      const hn::Half<D> dh;
      const hn::Repartition<double, D> dd;
      const auto low = divide_down(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, a)), hn::PromoteTo(dd, hn::LowerHalf(dh, b)));
      const auto high = divide_down(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, a)), hn::PromoteTo(dd, hn::UpperHalf(dh, b)));
      if constexpr (remainder) return hn::Combine(d, hn::DemoteTo(dh, high.rest), hn::DemoteTo(dh, low.rest));
      return hn::Combine(d, hn::DemoteTo(dh, high.quotient), hn::DemoteTo(dh, low.quotient));
    } else {
      // Adding the bits of 1.5 2^52 converts an integer to a double, and subtracting them converts back.
      const hn::RebindToFloat<D> dd;
      const V bits = hn::Set(d, 0x4338000000000000);
      const auto magic = hn::Set(dd, 0x1.8p52);
      const auto of = divide_down(dd, hn::Sub(hn::BitCast(dd, hn::Add(a, bits)), magic), hn::Sub(hn::BitCast(dd, hn::Add(b, bits)), magic));
      return hn::Sub(hn::BitCast(d, hn::Add(remainder ? of.rest : of.quotient, magic)), bits);
    }
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
