// Loops of where and astype for each instruction set: those of selection-inl.h.
#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "executor/host/simd/selection.cpp"
#include <hwy/foreach_target.h>
#endif

#include "executor/host/simd/loops.h"
#include "graph/ops/convert.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include <hwy/highway.h>

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

RowLoop find_converting(DType from, DType to) {
  return dispatch(from, [&](auto source) {
    return dispatch(to, [&](auto target) -> RowLoop {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
        return convert<From, To>;
      } else {
        return nullptr;
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
