// One body of a loop, compiled for several sets of instructions inside one file: an always-inlined template, and a function for each set
// that calls it. CLEAVE_SEVERAL_SETS: whether the compiler can. Vectors are passed by reference: by value, each set would do it in its way.
#pragma once

#include "executor/host/instructions.h"

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#if defined(__x86_64__) && defined(__GNUC__)
#define CLEAVE_SEVERAL_SETS 1
#define CLEAVE_WITH_AVX2 [[gnu::target("avx2")]]
#define CLEAVE_WITH_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]]
#else
#define CLEAVE_SEVERAL_SETS 0
#endif

/// Before a loop whose turns do not depend on one another.
#ifdef __clang__
#define CLEAVE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLEAVE_INDEPENDENT _Pragma("GCC ivdep")
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
