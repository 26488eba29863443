// pow on vectors of f32 and f64, in the style of math-inl.h. Compiled once for each target.
#if defined(CLEAVE_SIMD_POW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_POW_INL_H
#undef CLEAVE_SIMD_POW_INL_H
#else
#define CLEAVE_SIMD_POW_INL_H
#endif

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {

/// 2^(b log2 a): f32 in double, so that the result is almost always correctly rounded; f64 with the logarithm and its product with b in
/// double-double arithmetic. Supports finite a except zero, and finite b (f64: up to 2^70).
struct PowFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V a, V b) {
    using T = hn::TFromD<D>;
    V result;
    if constexpr (kSingle<T>) {
      result = in_double(d, hn::Abs(a), b);
    } else {
      result = in_two_doubles(d, hn::Abs(a), b);
    }
    // For a negative base, the result is NaN unless the exponent is an integer, and negative if it is odd.
    const auto negative = hn::Lt(a, hn::Zero(d));
    const V half = hn::Mul(b, hn::Set(d, T(0.5)));
    const auto whole = hn::Eq(hn::Round(b), b), odd = hn::Ne(hn::Round(half), half);
    const V with_sign = hn::IfThenElse(odd, hn::Neg(result), result);
    return hn::IfThenElse(negative, hn::IfThenElse(whole, with_sign, hn::Set(d, kNaN<T>)), result);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V a, V b) {
    using T = hn::TFromD<D>;
    const V infinity = hn::Set(d, kInfinity<T>), magnitude = hn::Abs(a);
    const auto base = hn::And(hn::Lt(magnitude, infinity), hn::Gt(magnitude, hn::Zero(d)));
    return hn::And(base, hn::Lt(hn::Abs(b), kSingle<T> ? infinity : hn::Set(d, T(0x1p70))));
  }

 private:
  template <class D, class V>
  static HWY_INLINE V in_double(D d, V a, V b) {
    const hn::Half<D> dh;
    const hn::Repartition<double, D> dd;
    const auto power = [&](auto base, auto exponent) HWY_ATTR {
      const auto at = split(dd, base);
      const auto s = hn::Div(at.f, hn::Add(at.f, hn::Set(dd, 2.0))), z = hn::Mul(s, s);
      const auto log2 = hn::MulAdd(s,
                                   polynomial(dd, z, 0x1.71547652b82fep+1, 0x1.ec709dc4c3795p-1, 0x1.2776c2ee4803fp-1, 0x1.a619f780d3663p-2,
                                              0x1.479ca4c709693p-2, 0x1.21574006dea74p-2),
                                   at.e);
      const auto y = hn::Min(hn::Max(hn::Mul(exponent, log2), hn::Set(dd, -1000.0)), hn::Set(dd, 1000.0));
      const auto shifted = hn::Add(y, hn::Set(dd, 0x1.8p52));
      const auto r = hn::Sub(y, hn::Sub(shifted, hn::Set(dd, 0x1.8p52)));
      const auto p =
          polynomial(dd, r, 0x1.ffffffffff79fp-1, 0x1.62e42fef8609fp-1, 0x1.ebfbdff931fc2p-3, 0x1.c6b08dd48bc33p-5, 0x1.3b2ab5c4d941fp-7,
                     0x1.5d87481329534p-10, 0x1.430acce4941c2p-13, 0x1.00daeb56b07fap-16, 0x1.61afcc97885f3p-20);
      return hn::Mul(p, power_of_two(dd, hn::BitCast(Bits<decltype(dd)>(), shifted)));
    };
    const auto low = power(hn::PromoteTo(dd, hn::LowerHalf(dh, a)), hn::PromoteTo(dd, hn::LowerHalf(dh, b)));
    const auto high = power(hn::PromoteTo(dd, hn::UpperHalf(dh, a)), hn::PromoteTo(dd, hn::UpperHalf(dh, b)));
    return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
  }

  /// The rounding error of a + b, for |a| >= |b| or a = 0.
  template <class V>
  static HWY_INLINE V lost(V a, V b, V sum) {
    return hn::Add(hn::Sub(a, sum), b);
  }

  /// With s = f / (f + 2) as a double-double, log2(1 + f) = s (c0 + c1 s^2 + s^4 Q(s^2)), where c0 and c1 s^2 are double-doubles.
  template <class D, class V>
  static HWY_INLINE V in_two_doubles(D d, V a, V b) {
    const auto of = [&](double x) HWY_ATTR { return hn::Set(d, x); };
    const Split<V> at = split_any(d, a);
    const V den = hn::Add(at.f, of(2)), den_low = lost(of(2), at.f, den), inverse = hn::Div(of(1), den);
    const V s = hn::Mul(at.f, inverse);
    const V s_low = hn::Mul(hn::NegMulAdd(s, den_low, hn::NegMulAdd(s, den, at.f)), inverse);
    const V z = hn::Mul(s, s), z_low = hn::MulAdd(hn::Add(s, s), s_low, hn::MulSub(s, s, z));
    const V q = polynomial(d, z, 0x1.2776c50ef9d25p-1, 0x1.a61762a7593d6p-2, 0x1.484b1421d0aa4p-2, 0x1.0c9a63c1ecfc6p-2,
                           0x1.c69f9426dbbc8p-3, 0x1.87affa59d75a5p-3, 0x1.85f0b89be381dp-3);
    const V c0 = of(0x1.71547652b82fep+1), c1 = of(0x1.ec709dc3a03fdp-1);
    const V p = hn::Mul(z, c1);
    const V p_low = hn::Add(hn::MulSub(z, c1, p), hn::MulAdd(z, of(0x1.d27f05548af0cp-55), hn::Mul(z_low, c1)));
    const V w = hn::Add(c0, p);
    const V w_low = hn::Add(lost(c0, p, w), hn::MulAdd(hn::Mul(z, z), q, hn::Add(p_low, of(0x1.777d0ffda0d24p-55))));
    const V l = hn::Mul(s, w), l_low = hn::Add(hn::MulSub(s, w, l), hn::MulAdd(s, w_low, hn::Mul(s_low, w)));
    const V log2 = hn::Add(at.e, l), log2_low = hn::Add(lost(at.e, l, log2), l_low);

    const V product = hn::Mul(b, log2), product_low = hn::MulAdd(b, log2_low, hn::MulSub(b, log2, product));
    const auto within = hn::Lt(hn::Abs(product), of(1100));
    const V y = hn::Min(hn::Max(product, of(-1100)), of(1100));
    const V shifted = hn::Add(y, of(0x1.8p52)), n = hn::Sub(shifted, of(0x1.8p52));
    const V r = hn::Add(hn::Sub(y, n), hn::IfThenElseZero(within, product_low));
    const V by_e = hn::MulAdd(r, of(0x1.62e42fefa39efp-1), hn::Mul(r, of(0x1.abc9e3b39803fp-56)));
    return scale(d, hn::Add(of(1), small_expm1(d, by_e)), n, hn::BitCast(Bits<D>(), shifted));
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
