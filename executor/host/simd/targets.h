// For which instruction sets Highway compiles a file of this room, and how a function of each is chosen. Comes before Highway's headers.
// Only those that have a fused multiply-add: what is older gets the loops of the compiler. Highway is used by its headers alone; what the
// machine has is asked in executor/host/instructions.cpp, so that nobody needs its library.
#pragma once

// NOLINTBEGIN(cppcoreguidelines-macro-usage): Highway is told by macros.
#define HWY_IS_DEBUG_BUILD 0  // its assertions call its library, in builds without optimisation
#ifdef CLEAVE_NO_AVX512       // builds with sanitizers: AVX2 has the same source
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#include <hwy/detect_targets.h>

/// In files that compile themselves again for each target: is this pass worth it?
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
/// Returns the `call` of the level's namespace, or nothing of that type.
#define CLEAVE_SIMD_RETURN(level, call) \
  CLEAVE_SIMD_AVX512(level, call);      \
  CLEAVE_SIMD_AVX2(level, call);        \
  CLEAVE_SIMD_NEON(level, call);        \
  return {}
// NOLINTEND(cppcoreguidelines-macro-usage)
