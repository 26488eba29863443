// erf and gelu on vectors of f32 and f64, in the style of math-inl.h. Compiled once for each target.
#if defined(CLEAVE_SIMD_ERF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_ERF_INL_H
#undef CLEAVE_SIMD_ERF_INL_H
#else
#define CLEAVE_SIMD_ERF_INL_H
#endif

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {

/// The tail of the normal distribution beyond m, for m from 0 to about 15 (f64: 39), times exp(m^2 / 2). It falls like 1 / (m + k), so it
/// is that times a polynomial of (m - a) / (m + k), which is small where the probability changes most.
struct ScaledTail {
  template <class D, class V>
  static HWY_INLINE V of(D d, V m) {
    using T = hn::TFromD<D>;
    const V inverse = hn::Div(hn::Set(d, T(1)), hn::Add(m, hn::Set(d, kSingle<T> ? T(3.5) : T(4))));
    const V q = hn::Mul(hn::Sub(m, hn::Set(d, kSingle<T> ? T(1) : T(4))), inverse);
    V p;
    if constexpr (kSingle<T>) {
      p = polynomial(d, q, 0x1.2d5694p+0F, -0x1.9ac1bap+0F, 0x1.45fbdep+0F, -0x1.e74e7ap-2F, -0x1.ed1758p-5F, 0x1.9f2eb8p-4F,
                     0x1.748906p-7F, -0x1.8ef828p-6F, -0x1.78063cp-8F, 0x1.a86f3ep-8F);
    } else {
      p = polynomial(d, q, 0x1.82b4bb8c94dcep-1, -0x1.373e3a893c28ap-1, 0x1.8c6dbf2cfc308p-2, -0x1.7dff2bff6848cp-3, 0x1.eec4cc3e44339p-5,
                     -0x1.ee276104399ebp-8, -0x1.c81719c954b83p-9, 0x1.ab825fb0bd79fp-10, 0x1.17a4a5f6aafb3p-13, -0x1.e4a421ba4b709p-13,
                     -0x1.0011036c6711fp-19, 0x1.26d0639e81af9p-15, 0x1.7fd968b4a1500p-21, -0x1.8d4907198ad0cp-18, -0x1.4faa97767e721p-21,
                     0x1.124d8c7b5d4afp-20, 0x1.1ba1e64081348p-22, -0x1.5047e7460715dp-23, -0x1.4b9cd1d633f0cp-24, 0x1.1413c55abafe2p-26,
                     0x1.f64c081fe7dd8p-27, -0x1.74f4e46529110p-32, -0x1.48e660615d094p-30);
    }
    return hn::Mul(p, inverse);
  }
};

/// With s = |x| times the normal tail beyond |x|, the result is x - s or -s. So small results keep their digits, which 1 + erf(x) would
/// cancel.
struct GeluFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V m = at_most(d, kSingle<T> ? T(14.5) : T(39), hn::Abs(x)), square = hn::Mul(m, m), minus_half = hn::Set(d, T(-0.5));
    const V rest = hn::MulSub(m, m, square);  // the rounding error of the square
    const V factor = hn::Mul(m, ScaledTail::of(d, m));
    auto by = reduce_by_ln2(d, hn::Mul(square, minus_half));
    by.r = hn::MulAdd(rest, minus_half, by.r);
    const V s = scale(d, hn::MulAdd(factor, small_expm1(d, by.r), factor), by.n, by.bits);
    return hn::Sub(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Zero(d)), x), s);  // NaN at minus infinity, as in the reference
  }
};

/// Near zero an odd polynomial; beyond 15/16, 1 minus the complement: in f32 exp of a polynomial, in f64 from the normal tail.
struct ErfFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V square = hn::Mul(x, x), z = at_most(d, kSingle<T> ? T(4) : T(6), hn::Abs(x));
    V factor, rest;
    if constexpr (kSingle<T>) {
      factor = polynomial(d, square, 0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2df4p-4f, -0x1.b80cb4p-6f, 0x1.54b5e2p-8f, -0x1.a99ee8p-11f,
                          0x1.5ac304p-14f);
      rest = bounded_exp(d, polynomial(d, z, 0x1.6e5640p-13f, -0x1.2127e4p+0f, -0x1.44460ap-1f, -0x1.bb840ep-4f, 0x1.9b8f44p-6f,
                                       -0x1.115cb2p-8f, 0x1.c79a44p-12f, -0x1.61fb7cp-16f));
    } else {
      factor = polynomial(d, square, 0x1.06eba8214db68p-3, -0x1.812746b0379a2p-2, 0x1.ce2f21a03fa60p-4, -0x1.b82ce311a5c71p-6,
                          0x1.565bccecb7af8p-8, -0x1.c02dae1a38db1p-11, 0x1.f9a28000f69ccp-14, -0x1.f4c64597f3313p-17,
                          0x1.b952595163965p-20, -0x1.5ac90ebc44795p-23, 0x1.cd4ccd3bb18bap-27, -0x1.8a5270b5729edp-31);
      const V tail = ScaledTail::of(d, hn::Mul(z, hn::Set(d, 0x1.6a09e667f3bcdp+0)));
      rest = hn::Mul(hn::Add(tail, tail), bounded_exp(d, hn::Neg(hn::Mul(z, z))));
    }
    const V far = hn::CopySign(hn::Sub(hn::Set(d, T(1)), rest), x);
    return hn::IfThenElse(hn::Lt(z, hn::Set(d, T(0x1.ep-1))), hn::MulAdd(x, factor, x), far);
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
