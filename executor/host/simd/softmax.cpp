#include "executor/host/simd/softmax.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/softmax.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "executor/host/simd/halves-inl.h"
#include "executor/host/simd/math-inl.h"
#include "graph/base/stop.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

/// exp(x) for x not above zero.
template <class D, class V>
HWY_INLINE V falling_exp(D d, V x) {
  return bounded_exp(d, at_least(d, kExpLow<hn::TFromD<D>>, x));
}

/// The type of computation: f32 for f16 and bf16.
template <class E>
using Number = std::conditional_t<halves::is_half<E>, float, E>;

template <class D, class E>
HWY_INLINE hn::Vec<D> load_elements(D d, const E* from) {
  if constexpr (halves::is_half<E>) {
    return halves::widened<E>(hn::LoadU(halves::Bits16(), reinterpret_cast<const std::uint16_t*>(from)));
  } else {
    return hn::LoadU(d, from);
  }
}
template <class D, class E>
HWY_INLINE hn::Vec<D> load_elements(D d, const E* from, std::size_t count, Number<E> filling = 0) {
  if constexpr (halves::is_half<E>) {
    E part[HWY_MAX_BYTES / sizeof(float)];
    std::fill_n(part, hn::Lanes(d), E(filling));
    std::memcpy(part, from, count * sizeof(E));
    return load_elements(d, static_cast<const E*>(part));
  } else {
    return load_part(d, from, count, filling);
  }
}
template <class D, class E>
HWY_INLINE void store_elements(D d, hn::Vec<D> v, E* to, std::size_t count) {
  if constexpr (halves::is_half<E>) {
    HWY_ALIGN std::uint16_t part[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(halves::narrowed<E>(v), halves::Bits16(), part);
    std::memcpy(to, part, count * sizeof(E));
  } else if (count == hn::Lanes(d)) {
    hn::StoreU(v, d, to);
  } else {
    store_part(d, v, to, count);
  }
}

/// Adds a vector to the same number of sums in double.
template <class D>
HWY_INLINE void add_to(D d, hn::Vec<D> x, double* sums) {
  const hn::Repartition<double, D> dd;
  const auto add = [&](auto part, double* to) HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(dd, to), part), dd, to); };
  if constexpr (kSingle<hn::TFromD<D>>) {
    const hn::Half<D> dh;
    add(hn::PromoteTo(dd, hn::LowerHalf(dh, x)), sums);
    add(hn::PromoteTo(dd, hn::UpperHalf(dh, x)), sums + hn::Lanes(dd));
  } else {
    add(x, sums);
  }
  (void)d;
}
/// The end of the part that starts at `begin`; the stop sign is polled between parts. Parts are multiples of a vector.
HWY_INLINE std::size_t part_end(std::size_t begin, std::size_t count) {
  constexpr std::size_t kPart = 1 << 16;
  return std::min(count, begin + kPart);
}

template <class D, class E>
HWY_INLINE Number<E> largest_of(D d, const E* in, std::size_t count) {
  const std::size_t lanes = hn::Lanes(d);
  const Number<E> lowest = -kInfinity<Number<E>>;
  auto a = hn::Set(d, lowest), b = a;
  std::size_t i = 0;
  while (i + 2 * lanes <= count) {
    if (i > 0) look_at_stop();
    for (const std::size_t end = part_end(i, count); i + 2 * lanes <= end; i += 2 * lanes) {
      a = hn::Max(load_elements(d, in + i), a);
      b = hn::Max(load_elements(d, in + i + lanes), b);
    }
  }
  for (; i < count; i += lanes) a = hn::Max(i + lanes <= count ? load_elements(d, in + i) : load_elements(d, in + i, count - i, lowest), a);
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

/// Whether the last pass computes exponentials anew. Otherwise they are stored in the results until their sum is known, for which f16 and
/// bf16 have too few digits.
template <bool logarithm, class E>
inline constexpr bool kReadsAgain = logarithm || halves::is_half<E>;

/// The result for an element, or for its stored exponential.
template <bool logarithm, class E, class D, class V>
HWY_INLINE V finished(D d, V x, V largest, V by) {
  if constexpr (logarithm) return hn::Sub(hn::Sub(x, largest), by);
  if constexpr (halves::is_half<E>) return hn::Mul(falling_exp(d, hn::Sub(x, largest)), by);
  return hn::Mul(x, by);
}

template <bool logarithm, class E>
void row(const std::byte* bytes, std::byte* results, std::int64_t size) {
  using T = Number<E>;
  const hn::ScalableTag<T> d;
  const auto* in = reinterpret_cast<const E*>(bytes);
  auto* out = reinterpret_cast<E*>(results);
  const std::size_t lanes = hn::Lanes(d), count = static_cast<std::size_t>(size), whole = count / lanes * lanes, rest = count - whole;
  const auto largest = hn::Set(d, largest_of(d, in, count));
  const hn::Repartition<double, decltype(d)> dd;
  auto sums = hn::Zero(dd), more = hn::Zero(dd);  // two, to break the dependency chain
  const auto add = [&](auto e) HWY_ATTR {
    if constexpr (kSingle<T>) {
      const hn::Half<decltype(d)> dh;
      sums = hn::Add(sums, hn::PromoteTo(dd, hn::LowerHalf(dh, e)));
      more = hn::Add(more, hn::PromoteTo(dd, hn::UpperHalf(dh, e)));
    } else {
      sums = hn::Add(sums, e);
    }
  };
  for (std::size_t i = 0; i < whole;) {
    if (i > 0) look_at_stop();
    for (const std::size_t end = part_end(i, whole); i < end; i += lanes) {
      const auto e = falling_exp(d, hn::Sub(load_elements(d, in + i), largest));
      add(e);
      if constexpr (!kReadsAgain<logarithm, E>) hn::StoreU(e, d, out + i);
    }
  }
  if (rest > 0) {
    const auto e = hn::IfThenElseZero(hn::FirstN(d, rest), falling_exp(d, hn::Sub(load_elements(d, in + whole, rest), largest)));
    add(e);
    if constexpr (!kReadsAgain<logarithm, E>) store_part(d, e, out + whole, rest);
  }
  const double sum = hn::GetLane(hn::SumOfLanes(dd, hn::Add(sums, more)));
  const auto by = hn::Set(d, static_cast<T>(logarithm ? std::log(sum) : 1 / sum));
  const E* from = kReadsAgain<logarithm, E> ? in : out;
  for (std::size_t i = 0; i < whole;) {
    if (i > 0) look_at_stop();
    for (const std::size_t end = part_end(i, whole); i < end; i += lanes)
      store_elements(d, finished<logarithm, E>(d, load_elements(d, from + i), largest, by), out + i, lanes);
  }
  if (rest > 0) store_elements(d, finished<logarithm, E>(d, load_elements(d, from + whole, rest), largest, by), out + whole, rest);
}

/// Calls `f` on the vectors of a panel's row; lanes after its end are computed but not stored.
template <class E, class F>
HWY_INLINE void each_vector(const E* in, E* out, std::size_t width, const F& f) {
  const hn::ScalableTag<Number<E>> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < width; j += lanes) {
    const std::size_t left = std::min(lanes, width - j);
    const auto result = f(j, left == lanes ? load_elements(d, in + j) : load_elements(d, in + j, left));
    if (out != nullptr) store_elements(d, result, out + j, left);
  }
}

template <bool logarithm, class E>
void columns(const std::byte* bytes, std::byte* results, std::int64_t count, std::int64_t size, std::int64_t stride) {
  using T = Number<E>;
  constexpr bool again = kReadsAgain<logarithm, E>;
  const hn::ScalableTag<T> d;
  const auto* in = reinterpret_cast<const E*>(bytes);
  auto* out = reinterpret_cast<E*>(results);
  const auto width = static_cast<std::size_t>(size);
  constexpr std::size_t most = SoftmaxLoops::kMostWidth + HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T largest[most], by[most];
  double sums[most] = {};
  std::fill_n(largest, most, -kInfinity<T>);
  StopLooks looks;
  for (std::int64_t r = 0; r < count; ++r) {
    looks.worked(4 * size);
    each_vector<E>(in + r * stride, nullptr, width, [&](std::size_t j, auto x) HWY_ATTR {
      hn::StoreU(hn::Max(x, hn::LoadU(d, largest + j)), d, largest + j);
      return x;
    });
  }
  for (std::int64_t r = 0; r < count; ++r) {
    looks.worked(4 * size);
    each_vector<E>(in + r * stride, again ? nullptr : out + r * stride, width, [&](std::size_t j, auto x) HWY_ATTR {
      const auto e = falling_exp(d, hn::Sub(x, hn::LoadU(d, largest + j)));
      add_to(d, e, sums + j);
      return e;
    });
  }
  for (std::size_t j = 0; j < width; ++j) by[j] = static_cast<T>(logarithm ? std::log(sums[j]) : 1 / sums[j]);
  for (std::int64_t r = 0; r < count; ++r) {
    looks.worked(4 * size);
    each_vector<E>((again ? in : out) + r * stride, out + r * stride, width, [&](std::size_t j, auto x) HWY_ATTR {
      return finished<logarithm, E>(d, x, hn::LoadU(d, largest + j), hn::LoadU(d, by + j));
    });
  }
}

template <bool logarithm>
const SoftmaxLoops* find_for(DType element) {
  const auto of = []<class E>(E) {
    static constexpr SoftmaxLoops loops{row<logarithm, E>, columns<logarithm, E>};
    return &loops;
  };
  switch (element) {
    case DType::f32: return of(float{});
    case DType::f64: return of(double{});
    case DType::f16: return of(Half{});
    case DType::bf16: return of(BFloat16{});
    default: return nullptr;
  }
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

const SoftmaxLoops* softmax_loops([[maybe_unused]] Level level, [[maybe_unused]] bool logarithm, [[maybe_unused]] DType element) {
#ifdef CLEAVE_HAS_HIGHWAY
  if (logarithm) {
    CLEAVE_SIMD_RETURN(level, find_for<true>(element));
  }
  CLEAVE_SIMD_RETURN(level, find_for<false>(element));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
