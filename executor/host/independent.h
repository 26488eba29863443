// CLEAVE_INDEPENDENT stands before a loop whose iterations are independent, so that the compiler vectorises it without proving that.
// A macro and nothing else, since files that are compiled for several instruction sets include it.
#pragma once

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#ifdef __clang__
#define CLEAVE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLEAVE_INDEPENDENT _Pragma("GCC ivdep")
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
