// A prefix sum within a vector in log2(lanes) steps, each of which adds the lanes 1, 2, 4, ... before. Between vectors only the total is
// carried, a dependency of one addition.
#include "executor/host/simd/scan.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Shifts lanes up: lane i gets lane i - step; lower lanes become zero.
template <int step, class D, class V>
HWY_INLINE V from_before(D d, V x) {
  HWY_ALIGN std::int64_t places[HWY_MAX_BYTES / sizeof(std::int64_t)];
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < lanes; ++i) places[i] = i < step ? 0 : i - step;
  const auto moved = hn::TableLookupLanes(x, hn::SetTableIndices(d, places));
  return hn::IfThenZeroElse(hn::FirstN(d, step), moved);
}

template <class D, class V>
HWY_INLINE V last_lane(D d, V x) {
  HWY_ALIGN std::int64_t places[HWY_MAX_BYTES / sizeof(std::int64_t)];
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < lanes; ++i) places[i] = lanes - 1;
  return hn::TableLookupLanes(x, hn::SetTableIndices(d, places));
}

template <class T>
void run(const std::byte* bytes, std::byte* results, std::int64_t size, double base) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> dt;
  const auto* in = reinterpret_cast<const T*>(bytes);
  auto* out = reinterpret_cast<T*>(results);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto before = hn::Set(d, base);
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    auto sums = hn::Zero(d);
    if constexpr (std::is_same_v<T, float>) {
      sums = hn::PromoteTo(d, hn::LoadU(dt, in + i));
    } else {
      sums = hn::LoadU(d, in + i);
    }
    if (lanes > 1) sums = hn::Add(sums, from_before<1>(d, sums));
    if (lanes > 2) sums = hn::Add(sums, from_before<2>(d, sums));
    if (lanes > 4) sums = hn::Add(sums, from_before<4>(d, sums));
    const auto here = hn::Add(before, sums);
    if constexpr (std::is_same_v<T, float>) {
      hn::StoreU(hn::DemoteTo(dt, here), dt, out + i);
    } else {
      hn::StoreU(here, d, out + i);
    }
    before = hn::Add(before, last_lane(d, sums));
  }
  double running = hn::GetLane(before);
  for (; i < size; ++i) {
    running += static_cast<double>(in[i]);
    out[i] = static_cast<T>(running);
  }
}

RunningSums find(DType element) {
  static_assert(HWY_MAX_BYTES <= 64, "vectors of more than eight doubles take another step");
  if (element == DType::f32) return run<float>;
  return element == DType::f64 ? run<double> : nullptr;
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

RunningSums running_sums([[maybe_unused]] Level level, [[maybe_unused]] DType element) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find(element));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
