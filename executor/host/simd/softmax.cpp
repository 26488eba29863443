#include "executor/host/simd/softmax.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/softmax.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

/// exp(x) of an x that is not above zero.
template <class D, class V>
HWY_INLINE V falling_exp(D d, V x) {
  return bounded_exp(d, at_least(d, kExpLow<hn::TFromD<D>>, x));
}

/// Adds a vector to as many sums in double.
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
template <class D, class T>
HWY_INLINE T largest_of(D d, const T* in, std::size_t count) {
  const std::size_t lanes = hn::Lanes(d);
  const T lowest = -kInfinity<T>;
  auto a = hn::Set(d, lowest), b = a;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a = hn::Max(hn::LoadU(d, in + i), a);
    b = hn::Max(hn::LoadU(d, in + i + lanes), b);
  }
  for (; i < count; i += lanes) a = hn::Max(i + lanes <= count ? hn::LoadU(d, in + i) : load_part(d, in + i, count - i, lowest), a);
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

template <bool logarithm, class T>
void row(const std::byte* bytes, std::byte* results, std::int64_t size) {
  const hn::ScalableTag<T> d;
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* out = reinterpret_cast<T*>(results);
  const std::size_t lanes = hn::Lanes(d), count = static_cast<std::size_t>(size), whole = count / lanes * lanes, rest = count - whole;
  const auto largest = hn::Set(d, largest_of(d, in, count));
  const hn::Repartition<double, decltype(d)> dd;
  auto sums = hn::Zero(dd), more = hn::Zero(dd);  // two, or one waits on the other
  const auto add = [&](auto e) HWY_ATTR {
    if constexpr (kSingle<T>) {
      const hn::Half<decltype(d)> dh;
      sums = hn::Add(sums, hn::PromoteTo(dd, hn::LowerHalf(dh, e)));
      more = hn::Add(more, hn::PromoteTo(dd, hn::UpperHalf(dh, e)));
    } else {
      sums = hn::Add(sums, e);
    }
  };
  for (std::size_t i = 0; i < whole; i += lanes) {
    const auto e = falling_exp(d, hn::Sub(hn::LoadU(d, in + i), largest));
    add(e);
    if constexpr (!logarithm) hn::StoreU(e, d, out + i);
  }
  if (rest > 0) {
    const auto e = hn::IfThenElseZero(hn::FirstN(d, rest), falling_exp(d, hn::Sub(load_part(d, in + whole, rest), largest)));
    add(e);
    if constexpr (!logarithm) store_part(d, e, out + whole, rest);
  }
  const double sum = hn::GetLane(hn::SumOfLanes(dd, hn::Add(sums, more)));
  const auto by = hn::Set(d, static_cast<T>(logarithm ? std::log(sum) : 1 / sum));
  const auto finish = [&](const T* from) HWY_ATTR {
    if constexpr (logarithm) return hn::Sub(hn::Sub(hn::LoadU(d, from), largest), by);
    return hn::Mul(hn::LoadU(d, from), by);
  };
  const T* from = logarithm ? in : out;
  for (std::size_t i = 0; i < whole; i += lanes) hn::StoreU(finish(from + i), d, out + i);
  for (std::size_t i = whole; i < count; ++i) {
    out[i] = logarithm ? from[i] - hn::GetLane(largest) - hn::GetLane(by) : from[i] * hn::GetLane(by);
  }
}

/// A row of a panel, which is as wide as vectors: columns behind its end are copies of nothing and are not written.
template <class T, class F>
HWY_INLINE void each_vector(const T* in, T* out, std::size_t width, const F& f) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < width; j += lanes) {
    const std::size_t left = std::min(lanes, width - j);
    const auto result = f(j, left == lanes ? hn::LoadU(d, in + j) : load_part(d, in + j, left));
    if (out == nullptr) continue;
    if (left == lanes) {
      hn::StoreU(result, d, out + j);
    } else {
      store_part(d, result, out + j, left);
    }
  }
}

template <bool logarithm, class T>
void columns(const std::byte* bytes, std::byte* results, std::int64_t count, std::int64_t size, std::int64_t stride) {
  const hn::ScalableTag<T> d;
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* out = reinterpret_cast<T*>(results);
  const auto width = static_cast<std::size_t>(size);
  constexpr std::size_t most = SoftmaxLoops::kMostWidth + HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T largest[most], by[most];
  double sums[most] = {};
  std::fill_n(largest, most, -kInfinity<T>);
  for (std::int64_t r = 0; r < count; ++r) {
    each_vector<T>(in + r * stride, nullptr, width, [&](std::size_t j, auto x) HWY_ATTR {
      hn::StoreU(hn::Max(x, hn::LoadU(d, largest + j)), d, largest + j);
      return x;
    });
  }
  for (std::int64_t r = 0; r < count; ++r) {
    each_vector<T>(in + r * stride, logarithm ? nullptr : out + r * stride, width, [&](std::size_t j, auto x) HWY_ATTR {
      const auto e = falling_exp(d, hn::Sub(x, hn::LoadU(d, largest + j)));
      add_to(d, e, sums + j);
      return e;
    });
  }
  for (std::size_t j = 0; j < width; ++j) by[j] = static_cast<T>(logarithm ? std::log(sums[j]) : 1 / sums[j]);
  for (std::int64_t r = 0; r < count; ++r) {
    each_vector<T>((logarithm ? in : out) + r * stride, out + r * stride, width, [&](std::size_t j, auto x) HWY_ATTR {
      const auto scale = hn::LoadU(d, by + j);
      if constexpr (logarithm) return hn::Sub(hn::Sub(x, hn::LoadU(d, largest + j)), scale);
      return hn::Mul(x, scale);
    });
  }
}

const SoftmaxLoops* find(bool logarithm, DType element) {
  static constexpr SoftmaxLoops single{row<false, float>, columns<false, float>}, both{row<false, double>, columns<false, double>},
      single_log{row<true, float>, columns<true, float>}, both_log{row<true, double>, columns<true, double>};
  if (element == DType::f32) return logarithm ? &single_log : &single;
  if (element == DType::f64) return logarithm ? &both_log : &both;
  return nullptr;
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
  CLEAVE_SIMD_RETURN(level, find(logarithm, element));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
