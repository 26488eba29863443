// Loops of where and astype for each instruction set, from selection-inl.h.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/selection.cpp"
#include <hwy/foreach_target.h>
#endif

#include <algorithm>

#include "executor/host/independent.h"
#include "executor/host/simd/loops.h"
#include "graph/ops/convert.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/halves-inl.h"

#if CLEAVE_SIMD
HWY_BEFORE_NAMESPACE();
namespace cleave::runtime::host::HWY_NAMESPACE {
namespace {

#include "executor/host/selection-inl.h"

RowLoop find_choosing(DType choice) {
  switch (size_of(choice)) {
    case 1: return choose<std::uint8_t>;
    case 2: return choose<std::uint16_t>;
    case 4: return choose<std::uint32_t>;
    default: return choose<std::uint64_t>;
  }
}

/// Converts from or to f16 and bf16 by way of f32, as the scalar conversion does.
template <class From, class To>
void convert_by_single(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  constexpr std::int64_t kPiece = 1024;
  alignas(64) float wide[kPiece];
  From picked[kPiece];
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    const From* from = reinterpret_cast<const From*>(operands[0]) + begin * steps[0];
    if (steps[0] != 1) {
      for (std::int64_t i = 0; i < size; ++i) picked[i] = from[i * steps[0]];
      from = picked;
    }
    const std::int64_t one[] = {1};
    if constexpr (halves::is_half<From>) {
      halves::widen(from, wide, size);
    } else {
      const auto* source = reinterpret_cast<const std::byte*>(from);
      convert<From, float>(&source, one, reinterpret_cast<std::byte*>(wide), size);
    }
    To* to = reinterpret_cast<To*>(results) + begin;
    if constexpr (halves::is_half<To>) {
      halves::narrow(wide, to, size);
    } else {
      const auto* source = reinterpret_cast<const std::byte*>(wide);
      convert<float, To>(&source, one, reinterpret_cast<std::byte*>(to), size);
    }
  }
}

RowLoop find_converting(DType from, DType to) {
  return dispatch(from, [&](auto source) {
    return dispatch(to, [&](auto target) -> RowLoop {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
        return convert<From, To>;
      } else {
        return convert_by_single<From, To>;
      }
    });
  });
}

}  // namespace
}  // namespace cleave::runtime::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif

#if !defined(CLEAVE_HAS_HIGHWAY) || HWY_ONCE
namespace cleave::runtime::host {

RowLoop choosing_loop([[maybe_unused]] Level level, [[maybe_unused]] DType choice) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_choosing(choice));
#else
  return nullptr;
#endif
}

RowLoop converting_loop([[maybe_unused]] Level level, [[maybe_unused]] DType from, [[maybe_unused]] DType to) {
#ifdef CLEAVE_HAS_HIGHWAY
  CLEAVE_SIMD_RETURN(level, find_converting(from, to));
#else
  return nullptr;
#endif
}

}  // namespace cleave::runtime::host
#endif
