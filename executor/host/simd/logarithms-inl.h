// Functions derived from the logarithms of math-inl.h: log10, asinh, acosh, atanh, logaddexp; and hypot. Like those, without tables and
// branches; unsupported arguments are computed by the scalar reference. Compiled once for each target.
#if defined(CLEAVE_SIMD_LOGARITHMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_LOGARITHMS_INL_H
#undef CLEAVE_SIMD_LOGARITHMS_INL_H
#else
#define CLEAVE_SIMD_LOGARITHMS_INL_H
#endif

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {

/// e log10(2) + log(1 + f) / ln 10. The high part of log10(2) has so few bits that its product with e is exact.
struct Log10Function {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    constexpr T high = kSingle<T> ? T(0x1.bcb7b2p-2) : T(0x1.bcb7b1526e50ep-2),
                low = kSingle<T> ? T(-0x1.5b235ep-27) : T(0x1.95355baaafad3p-57);
    constexpr T two_high = kSingle<T> ? T(0x1.344p-2) : T(0x1.34413509f8p-2),
                two_low = kSingle<T> ? T(0x1.3509f8p-18) : T(-0x1.80433b83b532ap-44);
    const Split<V> at = split_any(d, x);
    const V tail = hn::MulAdd(at.f, hn::Set(d, low), hn::Mul(log_tail(d, at.f), hn::Set(d, high)));
    const V product = hn::Mul(at.f, hn::Set(d, high));
    const V error = hn::MulSub(at.f, hn::Set(d, high), product);
    const V whole = hn::Mul(at.e, hn::Set(d, two_high));
    const V sum = hn::Add(whole, product), lost = hn::Sub(product, hn::Sub(sum, whole));
    const V rest = hn::MulAdd(at.e, hn::Set(d, two_low), hn::Add(tail, hn::Add(error, lost)));
    return log_special(d, x, hn::Zero(d), hn::Add(sum, rest));
  }
};

/// The bound beyond which a square would overflow.
template <class T>
inline constexpr T kMostSquared = kSingle<T> ? T(0x1p60) : T(0x1p500);

/// log1p(a + a^2 / (1 + sqrt(1 + a^2))) for a = |x|.
struct AsinhFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V one = hn::Set(d, hn::TFromD<D>(1)), a = hn::Abs(x), square = hn::Mul(a, a);
    const V more = hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(one, square))));
    return hn::CopySign(Log1pFunction::of(d, hn::Add(a, more)), x);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return hn::Le(hn::Abs(x), hn::Set(d, kMostSquared<hn::TFromD<D>>));
  }
};

/// log1p(t + sqrt(t (t + 2))) for t = x - 1.
struct AcoshFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T(1)), t = hn::Sub(x, one);
    const V result = Log1pFunction::of(d, hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, T(2)))))));
    return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, kNaN<T>), result);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return hn::Le(x, hn::Set(d, kMostSquared<hn::TFromD<D>>));
  }
};

/// log1p(2a / (1 - a)) / 2 for a = |x|.
struct AtanhFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T(1)), a = hn::Abs(x);
    const V twice = Log1pFunction::of(d, hn::Div(hn::Add(a, a), hn::Sub(one, a)));
    return hn::CopySign(hn::Mul(twice, hn::Set(d, T(0.5))), x);
  }
};

/// Supports numbers whose larger square neither overflows nor underflows, and pairs of zeros.
struct HypotFunction {
  template <class D, class V>
  static HWY_INLINE V of(D, V x, V y) {
    return hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y)));
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x, V y) {
    using T = hn::TFromD<D>;
    const V most = hn::Max(hn::Abs(x), hn::Abs(y)), least = hn::Set(d, kSingle<T> ? T(0x1p-40) : T(0x1p-400));
    const auto large = hn::And(hn::Ge(most, least), hn::Le(hn::Add(hn::Abs(x), hn::Abs(y)), hn::Set(d, kMostSquared<T>)));
    return hn::Or(large, hn::Eq(hn::Add(hn::Abs(x), hn::Abs(y)), hn::Zero(d)));
  }
};

/// max(x, y) + log1p(exp(-|x - y|)).
struct LogAddExpFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x, V y) {
    using T = hn::TFromD<D>;
    const V apart = hn::Sub(x, y);
    const V more = Log1pFunction::of(d, ExpFunction::of(d, hn::Neg(hn::Abs(apart))));
    const V larger = hn::IfThenElse(hn::Gt(apart, hn::Zero(d)), x, y);
    return hn::IfThenElse(hn::Eq(x, y), hn::Add(x, hn::Set(d, T(0x1.62e42fefa39efp-1))), hn::Add(larger, more));
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
