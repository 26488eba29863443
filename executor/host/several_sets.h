// Compiles one loop body for several instruction sets inside one file: an always-inlined template, and one function for each set that calls
// it. CLEAVE_SEVERAL_SETS says whether the compiler can do it. Vectors are passed by reference, because the calling convention for vectors
// by value differs between sets.
#pragma once

#include "executor/host/independent.h"
#include "executor/host/instructions.h"

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#if defined(__x86_64__) && defined(__GNUC__)
#define CLEAVE_SEVERAL_SETS 1
#define CLEAVE_WITH_AVX2 [[gnu::target("avx2")]]
#define CLEAVE_WITH_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]]
#else
#define CLEAVE_SEVERAL_SETS 0
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
