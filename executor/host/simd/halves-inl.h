// Conversions of f16 and bf16 to f32 and back by vectors, bit for bit as Half and BFloat16 (graph/array/tensor_type.h): round to nearest
// even; NaNs keep their sign and leading bits. Code that computes with such elements converts pieces to f32. Compiled once for each target.
#if defined(CLEAVE_SIMD_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CLEAVE_SIMD_HALVES_INL_H
#undef CLEAVE_SIMD_HALVES_INL_H
#else
#define CLEAVE_SIMD_HALVES_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "graph/array/tensor_type.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace halves {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

using Singles = hn::ScalableTag<float>;
using Bits16 = hn::Rebind<std::uint16_t, Singles>;
using Bits32 = hn::Rebind<std::uint32_t, Singles>;

template <class H>
HWY_INLINE hn::Vec<Singles> widened(hn::Vec<Bits16> bits) {
  const Singles d;
  if constexpr (std::is_same_v<H, Half>) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, Singles>(), bits));
  } else {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(Bits32(), bits)));
  }
}

template <class H>
HWY_INLINE hn::Vec<Bits16> narrowed(hn::Vec<Singles> v) {
  const Singles d;
  if constexpr (std::is_same_v<H, Half>) {
    return hn::BitCast(Bits16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, Singles>(), v));
  } else {
    const Bits32 du;
    const hn::Rebind<std::int32_t, Singles> di;
    const auto bits = hn::BitCast(du, v), high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(du, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
    const auto nan = hn::BitCast(du, hn::VecFromMask(d, hn::IsNaN(v)));
    const auto kept = hn::IfVecThenElse(nan, hn::Or(high, hn::Set(du, 0x40)), rounded);
    return hn::DemoteTo(Bits16(), hn::BitCast(di, kept));
  }
}

template <class H>
void widen(const H* from, float* to, std::int64_t count) {
  const Singles d;
  const Bits16 dh;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(widened<H>(hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(from + i))), d, to + i);
  if (i == count) return;
  HWY_ALIGN std::uint16_t part[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(part, from + i, static_cast<std::size_t>(count - i) * sizeof(H));
  hn::Store(widened<H>(hn::Load(dh, part)), d, wide);
  std::memcpy(to + i, wide, static_cast<std::size_t>(count - i) * sizeof(float));
}

template <class H>
void narrow(const float* from, H* to, std::int64_t count) {
  const Singles d;
  const Bits16 dh;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(narrowed<H>(hn::LoadU(d, from + i)), dh, reinterpret_cast<std::uint16_t*>(to + i));
  if (i == count) return;
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN std::uint16_t part[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(wide, from + i, static_cast<std::size_t>(count - i) * sizeof(float));
  hn::Store(narrowed<H>(hn::Load(d, wide)), dh, part);
  std::memcpy(to + i, part, static_cast<std::size_t>(count - i) * sizeof(H));
}

}  // namespace halves
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
