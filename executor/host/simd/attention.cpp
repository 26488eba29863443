#include "executor/host/simd/attention.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/attention.cpp"
#include <hwy/foreach_target.h>
#endif

#include <cmath>
#include <cstring>
#include <limits>

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/math-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

/// Loads the addends of a vector of scores, with zeros after the last of `left`.
template <class D, class T>
HWY_INLINE hn::Vec<D> added_at(D d, const T* from, std::size_t left) {
  return left >= hn::Lanes(d) ? hn::LoadU(d, from) : load_part(d, from, left);
}

/// Loads a mask for a vector of scores; lanes after the last of `left` are false.
template <class D>
HWY_INLINE hn::Mask<D> kept_at(D d, const bool* from, std::size_t left) {
  left = left < hn::Lanes(d) ? left : hn::Lanes(d);
  if constexpr (kSingle<hn::TFromD<D>>) {
    const hn::RebindToUnsigned<D> integers;
    const hn::Rebind<std::uint8_t, D> bytes;
    HWY_ALIGN std::uint8_t part[HWY_MAX_BYTES] = {};
    std::memcpy(part, from, left);
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(integers, hn::Load(bytes, part)), hn::Zero(integers)));
  } else {
    HWY_ALIGN hn::TFromD<D> part[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
    for (std::size_t i = 0; i < left; ++i) part[i] = from[i] ? 1 : 0;
    return hn::Ne(hn::Load(d, part), hn::Zero(d));
  }
}

template <class T>
T weigh(const ScoreRow<T>& row, ScoreState<T>& state) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), seen = static_cast<std::size_t>(row.seen), count = static_cast<std::size_t>(row.count);
  const auto scale = hn::Set(d, row.scale), lowest = hn::Set(d, -kInfinity<T>);
  auto largest = hn::Set(d, state.largest);
  std::size_t i = 0;
  for (; i < seen; i += lanes) {
    const std::size_t left = seen - i;
    auto x = hn::Mul(hn::LoadU(d, row.scores + i), scale);
    if (row.added != nullptr) x = hn::Add(x, added_at(d, row.added + i, left));
    if (row.kept != nullptr) x = hn::IfThenElse(kept_at(d, row.kept + i, left), x, lowest);
    if (left < lanes) x = hn::IfThenElse(hn::FirstN(d, left), x, lowest);
    hn::StoreU(x, d, row.scores + i);
    largest = hn::Max(x, largest);
  }
  const std::size_t weighed = i;
  const T before = state.largest, top = hn::GetLane(hn::MaxOfLanes(d, largest));
  const auto shift = hn::Set(d, top == -kInfinity<T> ? T(0) : top);
  auto sum = hn::Zero(d), more = hn::Zero(d);
  const auto weight = [&](std::size_t at) HWY_ATTR {
    const auto e = bounded_exp(d, at_least(d, kExpLow<T>, hn::Sub(hn::LoadU(d, row.scores + at), shift)));
    hn::StoreU(e, d, row.scores + at);
    return e;
  };
  for (i = 0; i + lanes < weighed; i += 2 * lanes) {
    sum = hn::Add(sum, weight(i));
    more = hn::Add(more, weight(i + lanes));
  }
  if (i < weighed) sum = hn::Add(sum, weight(i));
  for (i = weighed; i < count; i += lanes) hn::StoreU(hn::Zero(d), d, row.scores + i);
  const T by = top == before ? T(1) : std::exp(before - top);
  state.largest = top;
  state.sum = state.sum * static_cast<double>(by) + static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, more))));
  return by;
}

template <class T>
void differentiate(T* weights, T* products, std::int64_t length, T share, T scale) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), count = static_cast<std::size_t>(length);
  const auto by = hn::Set(d, share);
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto inside = hn::FirstN(d, count - i);
    const auto weight = hn::IfThenElseZero(inside, hn::Mul(hn::LoadU(d, weights + i), by));
    hn::StoreU(weight, d, weights + i);
    sum = hn::Add(sum, hn::IfThenElseZero(inside, hn::Mul(weight, hn::LoadU(d, products + i))));
  }
  const auto mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum))), factor = hn::Set(d, scale);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto weight = hn::LoadU(d, weights + i);
    hn::StoreU(hn::Mul(hn::Mul(weight, hn::Sub(hn::LoadU(d, products + i), mean)), factor), d, products + i);
  }
}

template <class T>
ScoreLoop<T> find_loop() {
  return weigh<T>;
}
template <class T>
ScoreGradientLoop<T> find_gradient_loop() {
  return differentiate<T>;
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {
namespace {

/// The portable loop, for machines without a level.
template <class T>
T weigh(const ScoreRow<T>& row, ScoreState<T>& state) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const T before = state.largest;
  for (std::int64_t i = 0; i < row.count; ++i) {
    T& score = row.scores[i];
    score *= row.scale;
    if (row.added != nullptr && i < row.seen) score += row.added[i];
    if (i >= row.seen || (row.kept != nullptr && !row.kept[i])) score = kLowest;
    if (state.largest < score) state.largest = score;
  }
  const T shift = state.largest == kLowest ? T(0) : state.largest, by = state.largest == before ? T(1) : std::exp(before - state.largest);
  state.sum *= static_cast<double>(by);
  for (std::int64_t i = 0; i < row.count; ++i) state.sum += static_cast<double>(row.scores[i] = std::exp(row.scores[i] - shift));
  return by;
}

template <class T>
void differentiate(T* weights, T* products, std::int64_t count, T share, T scale) {
  double mean = 0;
  for (std::int64_t i = 0; i < count; ++i) mean += static_cast<double>(weights[i] *= share) * static_cast<double>(products[i]);
  for (std::int64_t i = 0; i < count; ++i) products[i] = weights[i] * (products[i] - static_cast<T>(mean)) * scale;
}

template <class T>
ScoreGradientLoop<T> find_gradient([[maybe_unused]] Level level) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_gradient_loop<T>());
#else
  return nullptr;
#endif
}

template <class T>
ScoreLoop<T> find([[maybe_unused]] Level level) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_loop<T>());
#else
  return nullptr;
#endif
}

}  // namespace

template <class T>
ScoreLoop<T> score_loop() {
  const ScoreLoop<T> fast = levels().empty() ? nullptr : find<T>(levels().front());
  return fast != nullptr ? fast : weigh<T>;
}
template ScoreLoop<float> score_loop();
template ScoreLoop<double> score_loop();

template <class T>
ScoreGradientLoop<T> score_gradient_loop() {
  const ScoreGradientLoop<T> fast = levels().empty() ? nullptr : find_gradient<T>(levels().front());
  return fast != nullptr ? fast : differentiate<T>;
}
template ScoreGradientLoop<float> score_gradient_loop();
template ScoreGradientLoop<double> score_gradient_loop();

}  // namespace cleave::runtime::host
#endif
