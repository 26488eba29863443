// Sine, cosine, tangent and their inverses on vectors of f32 and f64, in the style of math-inl.h. Compiled once for each target.
#if defined(CLEAVE_SIMD_TRIGONOMETRY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_TRIGONOMETRY_INL_H
#undef CLEAVE_SIMD_TRIGONOMETRY_INL_H
#else
#define CLEAVE_SIMD_TRIGONOMETRY_INL_H
#endif

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {

/// The argument reduction of sine, cosine and tangent: r + low is x minus `quarter` quarter turns.
template <class V, class VI>
struct Turned {
  V r, low;
  VI quarter;
};

/// The bound beyond which the number of quarter turns would be inexact, or the remainder would have too few digits.
template <class T>
inline constexpr T kMostTurned = kSingle<T> ? T(0x1p20) : T(0x1p30);

/// Argument reduction for f32, in double, so that nothing is lost.
template <class D, class V>
HWY_INLINE auto turn_single(D d, V x) {
  const Bits<D> di;
  const hn::Half<D> dh;
  const hn::Half<Bits<D>> dih;
  const hn::Repartition<double, D> dd;
  const auto magic = hn::Set(dd, 0x1.8p52);
  const auto low = hn::PromoteTo(dd, hn::LowerHalf(dh, x)), high = hn::PromoteTo(dd, hn::UpperHalf(dh, x));
  const auto turns = hn::Set(dd, 0x1.45f306dc9c883p-1), big = hn::Set(dd, 0x1.921fb54442d18p+0), small = hn::Set(dd, 0x1.1a62633145c07p-54);
  const auto low_shifted = hn::MulAdd(low, turns, magic), high_shifted = hn::MulAdd(high, turns, magic);
  const auto low_n = hn::Sub(low_shifted, magic), high_n = hn::Sub(high_shifted, magic);
  const auto low_r = hn::NegMulAdd(low_n, small, hn::NegMulAdd(low_n, big, low));
  const auto high_r = hn::NegMulAdd(high_n, small, hn::NegMulAdd(high_n, big, high));
  return Turned<V, hn::Vec<Bits<D>>>{hn::Combine(d, hn::DemoteTo(dh, high_r), hn::DemoteTo(dh, low_r)), hn::Zero(d),
                                     hn::Combine(di, hn::DemoteTo(dih, high_n), hn::DemoteTo(dih, low_n))};
}

/// Argument reduction for f64: a quarter turn is the sum of three numbers. The first difference is exact: both are multiples of 2^-53, and
/// the difference is less than 1.
template <class D, class V>
HWY_INLINE auto turn_both(D d, V x) {
  const V magic = hn::Set(d, 0x1.8p52), second = hn::Set(d, 0x1.1a62633145c07p-54);
  const V shifted = hn::MulAdd(x, hn::Set(d, 0x1.45f306dc9c883p-1), magic), n = hn::Sub(shifted, magic);
  const V first = hn::NegMulAdd(n, hn::Set(d, 0x1.921fb54442d18p+0), x);
  const V r = hn::NegMulAdd(n, second, first);
  const V low = hn::NegMulAdd(n, hn::Set(d, -0x1.f1976b7ed8fbcp-110), hn::NegMulAdd(n, second, hn::Sub(first, r)));
  return Turned<V, hn::Vec<Bits<D>>>{r, low, hn::BitCast(Bits<D>(), shifted)};
}

/// Sine and cosine of the reduced argument, and the quarter turns. For arguments up to `kMostTurned`.
template <class V, class VI>
struct Circular {
  V sine, cosine;
  VI quarter;
};
template <class D, class V>
HWY_INLINE auto circular(D d, V x) {
  using T = hn::TFromD<D>;
  if constexpr (kSingle<T>) {
    const auto at = turn_single(d, x);
    const V z = hn::Mul(at.r, at.r);
    const V sine = hn::MulAdd(hn::Mul(at.r, z), polynomial(d, z, -0x1.555546p-3f, 0x1.11077ap-7f, -0x1.9954a4p-13f), at.r);
    const V cosine = hn::MulAdd(hn::Mul(z, z), polynomial(d, z, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e86ap-16f),
                                hn::NegMulAdd(z, hn::Set(d, 0.5F), hn::Set(d, 1.0F)));
    return Circular<V, hn::Vec<Bits<D>>>{hn::CopySign(sine, at.r), cosine, at.quarter};  // the sum is +0 at -0
  } else {
    const auto at = turn_both(d, x);
    const V z = hn::Mul(at.r, at.r), one = hn::Set(d, 1.0), half = hn::Mul(z, hn::Set(d, 0.5));
    const V s = polynomial(d, z, -0x1.5555555555549p-3, 0x1.111111110f89dp-7, -0x1.a01a019c1443cp-13, 0x1.71de35791274dp-19,
                           -0x1.ae5e66c0cc04bp-26, 0x1.5d9309075e2ccp-33);
    const V c = polynomial(d, z, 0x1.555555555554cp-5, -0x1.6c16c16c15217p-10, 0x1.a01a019cbe06ap-16, -0x1.27e4f81166951p-22,
                           0x1.1ee9f03ee66cfp-29, -0x1.8fb08d5a3ad12p-37);
    // sin(r + low) = sin r + low cos r, cos(r + low) = cos r - low sin r
    const V sine = hn::Add(at.r, hn::MulAdd(hn::Mul(at.r, z), s, hn::NegMulAdd(at.low, half, at.low)));
    const V most = hn::Sub(one, half), lost = hn::Sub(hn::Sub(one, most), half);
    const V cosine = hn::Add(most, hn::MulAdd(hn::Mul(z, z), c, hn::NegMulAdd(at.r, at.low, lost)));
    return Circular<V, hn::Vec<Bits<D>>>{hn::CopySign(sine, at.r), cosine, at.quarter};
  }
}
template <class D, class V>
HWY_INLINE auto takes_turns(D d, V x) {
  return hn::Le(hn::Abs(x), hn::Set(d, kMostTurned<hn::TFromD<D>>));
}
template <class D, class VI>
HWY_INLINE auto is_odd(D d, VI quarter) {
  const Bits<D> di;
  return hn::MaskFromVec(hn::BitCast(d, hn::Neg(hn::And(quarter, hn::Set(di, 1)))));
}

/// sin(x + quarters * pi / 2)
template <int quarters>
struct SineFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const Bits<D> di;
    const auto at = circular(d, x);
    const auto quarter = hn::Add(at.quarter, hn::Set(di, quarters));
    const auto sign = hn::ShiftLeft<8 * sizeof(hn::TFromD<D>) - 2>(hn::And(quarter, hn::Set(di, 2)));
    return hn::Xor(hn::IfThenElse(is_odd(d, quarter), at.cosine, at.sine), hn::BitCast(d, sign));
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return takes_turns(d, x);
  }
};

/// After an odd number of quarter turns, sin / cos becomes -cos / sin.
struct TanFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const auto at = circular(d, x);
    const auto odd = is_odd(d, at.quarter);
    return hn::Div(hn::IfThenElse(odd, hn::Neg(at.cosine), at.sine), hn::IfThenElse(odd, at.sine, at.cosine));
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return takes_turns(d, x);
  }
};

/// A constant as the sum of two numbers of the type, made from two doubles.
template <class D>
struct Constant {
  using T = hn::TFromD<D>;
  T high, low;
  constexpr Constant(double first, double second) : high(T(first)), low(kSingle<T> ? T(first - double(T(first))) : T(second)) {}
};
template <class D>
inline constexpr Constant<D> kHalfTurn{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
template <class D>
inline constexpr Constant<D> kQuarterTurn{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

/// asin(t) - t for t up to 1/2, as t z P(z).
template <class D, class V>
HWY_INLINE V asin_tail(D d, V t, V z) {
  V p;
  if constexpr (kSingle<hn::TFromD<D>>) {
    p = polynomial(d, z, 0x1.5555cap-3f, 0x1.33016ap-4f, 0x1.748a2ap-5f, 0x1.8bb554p-6f, 0x1.59cc78p-5f);
  } else {
    p = polynomial(d, z, 0x1.5555555555387p-3, 0x1.333333336f8b3p-4, 0x1.6db6db41d1106p-5, 0x1.f1c72c6e6172ep-6, 0x1.6e89ef5d6b5fap-6,
                   0x1.1c6c298d910ebp-6, 0x1.c6f8576792d5fp-7, 0x1.8ee5b3982a02fp-7, 0x1.aaa9fb1884274p-8, 0x1.40b8edac150e3p-6,
                   -0x1.0b008c1cd8d86p-6, 0x1.05d296987b187p-5);
  }
  return hn::Mul(hn::Mul(t, z), p);
}

/// base - u - tail, where base is zero or larger than u; `base_low` is the low part of base.
template <class V>
HWY_INLINE V less(V base, V base_low, V u, V tail) {
  const V first = hn::Sub(base, u), lost = hn::Sub(hn::Sub(base, first), u);
  return hn::Add(first, hn::Add(lost, hn::Sub(base_low, tail)));
}

/// For |x| beyond 1/2: a quarter turn minus twice the asin of sqrt((1 - |x|) / 2).
struct AsinFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V half = hn::Set(d, T(0.5)), magnitude = hn::Abs(x);
    const auto big = hn::Gt(magnitude, half);
    const V z = hn::IfThenElse(big, hn::NegMulAdd(magnitude, half, half), hn::Mul(magnitude, magnitude)), root = hn::Sqrt(z);
    const V u = hn::IfThenElse(big, hn::Add(root, root), hn::Neg(magnitude));
    const V base = hn::IfThenElseZero(big, hn::Set(d, kQuarterTurn<D>.high)),
            low = hn::IfThenElseZero(big, hn::Set(d, kQuarterTurn<D>.low));
    return hn::CopySign(less(base, low, u, asin_tail(d, u, z)), x);
  }
};
struct AcosFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V half = hn::Set(d, T(0.5)), magnitude = hn::Abs(x);
    const auto big = hn::Gt(magnitude, half), positive = hn::Gt(x, half);
    const V z = hn::IfThenElse(big, hn::NegMulAdd(magnitude, half, half), hn::Mul(magnitude, magnitude)), root = hn::Sqrt(z);
    const V u = hn::IfThenElse(big, hn::CopySign(hn::Add(root, root), hn::Neg(x)), x);
    const auto choose = [&](T quarter, T whole)
                            HWY_ATTR { return hn::IfThenZeroElse(positive, hn::IfThenElse(big, hn::Set(d, whole), hn::Set(d, quarter))); };
    return less(choose(kQuarterTurn<D>.high, kHalfTurn<D>.high), choose(kQuarterTurn<D>.low, kHalfTurn<D>.low), u, asin_tail(d, u, z));
  }
};

/// atan(t) - t for t up to tan(pi / 8), as t z P(z).
template <class D, class V>
HWY_INLINE V atan_tail(D d, V t) {
  const V z = hn::Mul(t, t);
  V p;
  if constexpr (kSingle<hn::TFromD<D>>) {
    p = polynomial(d, z, -0x1.55554ap-2f, 0x1.9991e8p-3f, -0x1.23ba42p-3f, 0x1.b22eccp-4f, -0x1.f31d68p-5f);
  } else {
    p = polynomial(d, z, -0x1.5555555555554p-2, 0x1.9999999999582p-3, -0x1.249249246f3a4p-3, 0x1.c71c71b443ff8p-4, -0x1.745d144cf4658p-4,
                   0x1.3b1364a772f68p-4, -0x1.110be7ffd8025p-4, 0x1.e1678ed829b47p-5, -0x1.ab3b944f32eedp-5, 0x1.6fe6e0b66b43fp-5,
                   -0x1.0fe26655d318ep-5, 0x1.e8a5331943ba7p-7);
  }
  return hn::Mul(hn::Mul(t, z), p);
}

/// Reduces the angle of the point (b, a), with a and b not negative, by 0, 1/8 or 1/4 turn: the tangent of the rest, and the number of
/// eighths.
template <class V>
struct Slope {
  V t, eighths;
};
template <class D, class V>
HWY_INLINE Slope<V> slope(D d, V a, V b) {
  using T = hn::TFromD<D>;
  const auto low = hn::Lt(a, hn::Mul(b, hn::Set(d, T(0x1.a827999fcef32p-2))));
  const auto high = hn::Gt(a, hn::Mul(b, hn::Set(d, T(0x1.3504f333f9de6p+1))));
  const V above = hn::IfThenElse(low, a, hn::IfThenElse(high, hn::Neg(b), hn::Sub(a, b)));
  const V below = hn::IfThenElse(low, b, hn::IfThenElse(high, a, hn::Add(a, b)));
  return {hn::Div(above, below), hn::IfThenZeroElse(low, hn::IfThenElse(high, hn::Set(d, T(2)), hn::Set(d, T(1))))};
}
/// `eighths` eighths of a turn, plus the angle t + tail.
template <class D, class V>
HWY_INLINE V turned(D d, V eighths, V t, V tail) {
  constexpr Constant<D> eighth{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
  const V high = hn::Mul(eighths, hn::Set(d, eighth.high)), lost = hn::MulSub(eighths, hn::Set(d, eighth.high), high);
  const V low = hn::MulAdd(eighths, hn::Set(d, eighth.low), lost);
  const V sum = hn::Add(high, t);
  return hn::Add(sum, hn::Add(hn::Add(hn::Sub(high, sum), t), hn::Add(tail, low)));
}

struct AtanFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const Slope<V> at = slope(d, hn::Abs(x), hn::Set(d, hn::TFromD<D>(1)));
    return hn::CopySign(turned(d, at.eighths, at.t, atan_tail(d, at.t)), x);
  }
};

/// Supports numbers whose quotient neither overflows nor underflows, and one zero, but not two.
struct Atan2Function {
  template <class D, class V>
  static HWY_INLINE V of(D d, V y, V x) {
    using T = hn::TFromD<D>;
    const Slope<V> at = slope(d, hn::Abs(y), hn::Abs(x));
    const auto left = hn::Lt(x, hn::Zero(d));
    const V eighths = hn::IfThenElse(left, hn::Sub(hn::Set(d, T(4)), at.eighths), at.eighths);
    const V t = hn::IfThenElse(left, hn::Neg(at.t), at.t);
    return hn::CopySign(turned(d, eighths, t, atan_tail(d, t)), y);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V y, V x) {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d), most = hn::Set(d, kSingle<T> ? T(0x1p60) : T(0x1p500)),
            least = hn::Set(d, kSingle<T> ? T(0x1p-60) : T(0x1p-500));
    const auto fits = [&](V v) HWY_ATTR { return hn::And(hn::Le(v, most), hn::Or(hn::Ge(v, least), hn::Eq(v, zero))); };
    const V a = hn::Abs(y), b = hn::Abs(x);
    return hn::And(hn::And(fits(a), fits(b)), hn::Gt(hn::Max(a, b), zero));
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
