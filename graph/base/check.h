// Internal invariants. A failed CLEAVE_CHECK is a bug of cleave, never of the user: it prints the source position and aborts. User mistakes
// become Diagnostics (diagnostic.h); failures of the machine become Errors (result.h).
#pragma once

namespace cleave::detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* message);
}  // namespace cleave::detail

#define CLEAVE_CHECK(condition, ...)                                                  \
  do {                                                                                \
    if (!(condition)) [[unlikely]]                                                    \
      ::cleave::detail::check_failed(#condition, __FILE__, __LINE__, "" __VA_ARGS__); \
  } while (false)
