// Mathematical functions on vectors of f32 and f64, each computed directly from its argument without tables and branches. Coefficients are
// minimax fits (exchange algorithm), rounded one after another where that improves them. Special values are those of the C library.
// tests/executor/host/math_test.cpp measures errors in ULP; tools/bench/ulp.cpp has the bounds. Compiled once for each target.
#if defined(CLEAVE_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_MATH_INL_H
#undef CLEAVE_SIMD_MATH_INL_H
#else
#define CLEAVE_SIMD_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>
#include <limits>

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Bits = hn::RebindToSigned<D>;

template <class T>
inline constexpr bool kSingle = std::is_same_v<T, float>;
template <class T>
inline constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
/// The bits of 1.0 as an integer.
template <class T>
inline constexpr auto kOneBits = std::conditional_t<kSingle<T>, std::int32_t, std::int64_t>(std::numeric_limits<T>::max_exponent - 1)
                                 << kMantissa<T>;

/// Loads the last `count` elements, fewer than a vector, and fills the other lanes. By a masked load if it does not fault beyond the
/// elements, else through an array.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, std::size_t count, T filling = T(0)) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(hn::Set(d, filling), d, part);
  std::memcpy(part, from, count * sizeof(T));
  return hn::Load(d, part);
#else
  const auto there = hn::FirstN(d, count);
  return hn::IfThenElse(there, hn::MaskedLoad(there, d, from), hn::Set(d, filling));
#endif
}
template <class D, class T>
HWY_INLINE void store_part(D d, hn::Vec<D> vector, T* to, std::size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(vector, d, part);
  std::memcpy(to, part, count * sizeof(T));
#else
  hn::BlendedStore(vector, hn::FirstN(d, count), d, to);
#endif
}

/// c0 + x (c1 + x (c2 + …)), by Horner.
template <class D, class V>
HWY_INLINE V polynomial(D d, V, hn::TFromD<D> last) {
  return hn::Set(d, last);
}
template <class D, class V, class... More>
HWY_INLINE V polynomial(D d, V x, hn::TFromD<D> first, More... more) {
  return hn::MulAdd(polynomial(d, x, more...), x, hn::Set(d, first));
}

/// x = n ln 2 + r with integer n and |r| at most ln 2 / 2.
template <class V, class VI>
struct Reduced {
  V r, n;
  VI bits;  ///< the bits of n + magic, whose low bits are n
};

template <class D, class V>
HWY_INLINE auto reduce_by_ln2(D d, V x) {
  using T = hn::TFromD<D>;
  const Bits<D> di;
  constexpr T magic = kSingle<T> ? T(0x1.8p23) : T(0x1.8p52);  // adding it rounds to an integer, which is then in the low bits
  constexpr T high = kSingle<T> ? T(0x1.62e43p-1) : T(0x1.62e42fefa39efp-1),
              low = kSingle<T> ? T(-0x1.05c61p-29) : T(0x1.abc9e3b39803fp-56);
  const V shifted = hn::MulAdd(x, hn::Set(d, T(0x1.71547652b82fep+0)), hn::Set(d, magic));
  const V n = hn::Sub(shifted, hn::Set(d, magic));
  const V r = hn::NegMulAdd(n, hn::Set(d, low), hn::NegMulAdd(n, hn::Set(d, high), x));
  return Reduced<V, hn::Vec<Bits<D>>>{r, n, hn::BitCast(di, shifted)};
}

/// exp(r) - 1 for |r| at most ln 2 / 2.
template <class D, class V>
HWY_INLINE V small_expm1(D d, V r) {
  V tail;
  if constexpr (kSingle<hn::TFromD<D>>) {
    tail = polynomial(d, r, 0x1p-1f, 0x1.5554aep-3f, 0x1.555486p-5f, 0x1.12290ep-7f, 0x1.6d9a86p-10f);
  } else {
    tail = polynomial(d, r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f647p-7, 0x1.6c16c16c143adp-10,
                      0x1.a01a01b0138d2p-13, 0x1.a01a01b0e9f12p-16, 0x1.71ddf7d2911b4p-19, 0x1.27e4c533d1eafp-22, 0x1.af5fb36e1b673p-26,
                      0x1.1f960ba03db95p-29);
  }
  return hn::MulAdd(hn::Mul(r, r), tail, r);
}

/// 2^(n - less) from the bits of the reduction, if it is a normal number.
template <int less = 0, class D, class VI>
HWY_INLINE auto power_of_two(D d, VI bits) {
  using T = hn::TFromD<D>;
  const Bits<D> di;
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<kMantissa<T>>(bits), hn::Set(di, kOneBits<T> - (hn::TFromD<Bits<D>>(less) << kMantissa<T>))));
}

/// x 2^n, rounded once, for every n that results from reducing a clamped argument.
template <class D, class V, class VI>
HWY_INLINE V scale(D d, V x, V n, VI bits) {
#if HWY_TARGET == HWY_AVX3
  (void)bits;
  if constexpr (sizeof(V) == 64) {
    if constexpr (kSingle<hn::TFromD<D>>) {
      return V{_mm512_scalef_ps(x.raw, n.raw)};
    } else {
      return V{_mm512_scalef_pd(x.raw, n.raw)};
    }
  }
#endif
  using T = hn::TFromD<D>;
  const Bits<D> di;
  (void)n;
  // Two multiplications, the first of which is exact: n is extracted from the bits (n + magic), and each half of n is within the exponent
  // range.
  const VI whole = hn::Sub(bits, hn::Set(di, kSingle<T> ? hn::TFromD<Bits<D>>(0x4B400000) : hn::TFromD<Bits<D>>(0x4338000000000000)));
  const VI half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(x, power_of_two(d, half)), power_of_two(d, hn::Sub(whole, half)));
}

/// The bounds beyond which exp is infinite and zero.
template <class T>
inline constexpr T kExpHigh = kSingle<T> ? T(89) : T(710);
template <class T>
inline constexpr T kExpLow = kSingle<T> ? T(-104) : T(-746);

/// Clamps x to a limit (also `at_least`). A NaN passes, because Min and Max return their second operand for it.
template <class D, class V>
HWY_INLINE V at_most(D d, hn::TFromD<D> limit, V x) {
  return hn::Min(hn::Set(d, limit), x);
}
template <class D, class V>
HWY_INLINE V at_least(D d, hn::TFromD<D> limit, V x) {
  return hn::Max(hn::Set(d, limit), x);
}

/// exp(x) for x within the bounds.
template <class D, class V>
HWY_INLINE V bounded_exp(D d, V x) {
  const auto by = reduce_by_ln2(d, x);
  return scale(d, hn::Add(hn::Set(d, hn::TFromD<D>(1)), small_expm1(d, by.r)), by.n, by.bits);
}

struct ExpFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    return bounded_exp(d, at_least(d, kExpLow<T>, at_most(d, kExpHigh<T>, x)));
  }
};

/// expm1(x) / 2, so that it does not overflow early. x must be above the range where expm1 rounds to -1, and at most the bound of exp.
template <class D, class V>
HWY_INLINE V half_expm1(D d, V x) {
  using T = hn::TFromD<D>;
  const auto by = reduce_by_ln2(d, x);
  const V power = power_of_two<1>(d, by.bits);
  return hn::MulAdd(small_expm1(d, by.r), power, hn::Sub(power, hn::Set(d, T(0.5))));
}

struct Expm1Function {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V half = half_expm1(d, at_least(d, kSingle<T> ? T(-20) : T(-40), at_most(d, kExpHigh<T>, x)));
    return hn::CopySign(hn::Add(half, half), x);
  }
};

/// m / (m + 2) with m = expm1(2|x|).
struct TanhFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V magnitude = at_most(d, kSingle<T> ? T(10) : T(20), hn::Abs(x));
    const V half = half_expm1(d, hn::Add(magnitude, magnitude));
    return hn::CopySign(hn::Div(half, hn::Add(half, hn::Set(d, T(1)))), x);
  }
};

/// exp(x) / 2 for x from 0 to `kMostHyperbolic`; does not overflow where exp(x) would.
template <class T>
inline constexpr T kMostHyperbolic = kSingle<T> ? T(89) : T(710);
template <class D, class V>
HWY_INLINE V half_exp(D d, V x) {
  const auto by = reduce_by_ln2(d, x);
  const V power = power_of_two<1>(d, by.bits);
  return hn::MulAdd(small_expm1(d, by.r), power, power);
}

/// h + h / (2h + 1) with h = expm1(|x|) / 2.
struct SinhFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V half = half_expm1(d, hn::Abs(x));
    return hn::CopySign(hn::Add(half, hn::Div(half, hn::Add(hn::Add(half, half), hn::Set(d, hn::TFromD<D>(1))))), x);
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return hn::Le(hn::Abs(x), hn::Set(d, kMostHyperbolic<hn::TFromD<D>>));
  }
};

/// h + 1 / 4h with h = exp(|x|) / 2.
struct CoshFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const V half = half_exp(d, hn::Abs(x));
    return hn::Add(half, hn::Div(hn::Set(d, hn::TFromD<D>(0.25)), half));
  }
  template <class D, class V>
  static HWY_INLINE auto takes(D d, V x) {
    return SinhFunction::takes(d, x);
  }
};

/// 1 / (1 + e) or e / (1 + e) with e = exp(-|x|), so that nothing overflows.
struct SigmoidFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T(1));
    const V e = bounded_exp(d, at_least(d, kExpLow<T>, hn::Neg(hn::Abs(x))));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
};

/// x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for normal x.
template <class V>
struct Split {
  V e, f;
};
template <class D, class V>
HWY_INLINE Split<V> split(D d, V x) {
  using T = hn::TFromD<D>;
  const Bits<D> di;
  using I = hn::TFromD<Bits<D>>;
  constexpr I root = kSingle<T> ? I(0x3F3504F3) : I(0x3FE6A09E667F3BCD);  // sqrt(1/2)
  const hn::RebindToUnsigned<D> du;
  const auto above = hn::Add(hn::BitCast(di, x), hn::Set(di, kOneBits<T> - root));
  const auto e =
      hn::Sub(hn::BitCast(di, hn::ShiftRight<kMantissa<T>>(hn::BitCast(du, above))), hn::Set(di, I(kOneBits<T> >> kMantissa<T>)));
  const auto m = hn::Add(hn::And(above, hn::Set(di, (I(1) << kMantissa<T>)-1)), hn::Set(di, root));
  return {hn::ConvertTo(d, e), hn::Sub(hn::BitCast(d, m), hn::Set(d, T(1)))};
}

/// log(1 + f) - f for f as `split` gives it.
template <class D, class V>
HWY_INLINE V log_tail(D d, V f) {
  using T = hn::TFromD<D>;
  const V square = hn::Mul(f, f);
  if constexpr (kSingle<T>) {
    const V p = polynomial(d, f, 0x1.555546p-2f, -0x1.ffffeep-3f, 0x1.99a55ap-3f, -0x1.5562fep-3f, 0x1.23310ap-3f, -0x1.fb3d5ep-4f,
                           0x1.e6663cp-4f, -0x1.e316aep-4f, 0x1.1b4606p-4f);
    return hn::NegMulAdd(square, hn::Set(d, 0.5F), hn::Mul(hn::Mul(square, f), p));
  } else {
    const V half = hn::Mul(square, hn::Set(d, 0.5)), s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0))), z = hn::Mul(s, s);
    const V p = polynomial(d, z, 0x1.5555555555593p-1, 0x1.999999997fb31p-2, 0x1.2492494217acdp-2, 0x1.c71c51e7eb5fdp-3,
                           0x1.7466462f25544p-3, 0x1.39a0f4beab3a7p-3, 0x1.2f0d91465de9bp-3);
    return hn::MulSub(s, hn::MulAdd(p, z, half), half);
  }
}

/// Selects a logarithm's results for arguments that are not positive and finite; `zero_at` is the argument whose logarithm is -infinity.
template <class D, class V>
HWY_INLINE V log_special(D d, V x, V zero_at, V result) {
  using T = hn::TFromD<D>;
  result = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInfinity<T>)), result, x);  // infinity and NaN
  result = hn::IfThenElse(hn::Lt(x, zero_at), hn::Set(d, kNaN<T>), result);
  return hn::IfThenElse(hn::Eq(x, zero_at), hn::Set(d, -kInfinity<T>), result);
}

/// e ln 2 + f + tail
template <class D, class V>
HWY_INLINE V log_sum(D d, V e, V f, V tail) {
  using T = hn::TFromD<D>;
  // The high part has so few bits that its product with e is exact.
  constexpr T high = kSingle<T> ? T(0x1.62e4p-1) : T(0x1.62e42feep-1), low = kSingle<T> ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);
  return hn::MulAdd(e, hn::Set(d, high), hn::Add(f, hn::MulAdd(e, hn::Set(d, low), tail)));
}

/// `split` for any positive number, subnormal ones included.
template <class D, class V>
HWY_INLINE Split<V> split_any(D d, V x) {
  using T = hn::TFromD<D>;
  const auto tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  constexpr T shift = T(kMantissa<T> + 2);
  constexpr T factor = kSingle<T> ? T(0x1p25) : T(0x1p54);
  const Split<V> of = split(d, hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, factor)), x));
  return {hn::Sub(of.e, hn::IfThenElseZero(tiny, hn::Set(d, shift))), of.f};
}

struct LogFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    const Split<V> at = split_any(d, x);
    return log_special(d, x, hn::Zero(d), log_sum(d, at.e, at.f, log_tail(d, at.f)));
  }
};

struct Log2Function {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    constexpr T high = kSingle<T> ? T(0x1.715476p+0) : T(0x1.71547652b82fep+0),
                low = kSingle<T> ? T(0x1.4ae0cp-26) : T(0x1.777d0ffda0d24p-56);
    const Split<V> at = split_any(d, x);
    const V tail = hn::MulAdd(at.f, hn::Set(d, low), hn::Mul(log_tail(d, at.f), hn::Set(d, high)));
    const V product = hn::Mul(at.f, hn::Set(d, high));
    const V error = hn::MulSub(at.f, hn::Set(d, high), product);
    // e + product: |e| is the larger unless e is zero, so the sum's rounding error is exact, and is added to the tail.
    const V sum = hn::Add(at.e, product), lost = hn::Sub(product, hn::Sub(sum, at.e));
    return log_special(d, x, hn::Zero(d), hn::Add(sum, hn::Add(tail, hn::Add(error, lost))));
  }
};

struct Log1pFunction {
  template <class D, class V>
  static HWY_INLINE V of(D d, V x) {
    using T = hn::TFromD<D>;
    const V one = hn::Set(d, T(1)), u = hn::Add(x, one);
    const Split<V> at = split(d, u);
    const auto near = hn::Eq(at.e, hn::Zero(d));
    const V f = hn::IfThenElse(near, x, at.f);
    // The rounding error of u, computed from the smaller of 1 and x, which makes it exact.
    const V larger = hn::Max(one, x), smaller = hn::Min(one, x);
    const V lost = hn::Div(hn::Sub(smaller, hn::Sub(u, larger)), u);
    const V tail = hn::Add(log_tail(d, f), hn::IfThenZeroElse(near, lost));
    const V result = log_special(d, x, hn::Set(d, T(-1)), log_sum(d, at.e, f, tail));
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
  }
};

}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
