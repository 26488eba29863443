// Selects the instruction sets for which Highway compiles a file of this room, and dispatches to a level's function. Must precede Highway's
// headers. Only sets with a fused multiply-add are selected: older machines get the compiler's loops. Only Highway's headers are used;
// executor/host/instructions.cpp queries the machine, so Highway's library is not needed.
#pragma once

// NOLINTBEGIN(cppcoreguidelines-macro-usage): Highway is told by macros.
#define HWY_IS_DEBUG_BUILD 0  // assertions would call Highway's library in builds without optimisation
#ifdef CLEAVE_NO_AVX512       // the AVX2 code has the same source
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#include <hwy/detect_targets.h>

/// In files that compile themselves again for each target: whether this pass is for a level.
#define CLEAVE_SIMD (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON)

#if HWY_TARGETS & HWY_AVX3
#define CLEAVE_SIMD_AVX512(level, call) \
  if ((level) == Level::avx512) return N_AVX3::call
#else
#define CLEAVE_SIMD_AVX512(level, call)
#endif
#if HWY_TARGETS & HWY_AVX2
#define CLEAVE_SIMD_AVX2(level, call) \
  if ((level) == Level::avx2) return N_AVX2::call
#else
#define CLEAVE_SIMD_AVX2(level, call)
#endif
#if HWY_TARGETS & HWY_NEON
#define CLEAVE_SIMD_NEON(level, call) \
  if ((level) == Level::neon) return N_NEON::call
#else
#define CLEAVE_SIMD_NEON(level, call)
#endif
/// Returns the result of `call` in the level's namespace, or a default-constructed value of its type.
#define CLEAVE_SIMD_RETURN(level, call) \
  CLEAVE_SIMD_AVX512(level, call);      \
  CLEAVE_SIMD_AVX2(level, call);        \
  CLEAVE_SIMD_NEON(level, call);        \
  return {}
// NOLINTEND(cppcoreguidelines-macro-usage)
