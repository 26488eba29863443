// Whether this build uses a sanitizer that brings its own allocator and reserves terabytes of address space: such a program cannot run
// under `ulimit -v`, and must not replace `operator new`.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CLEAVE_SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CLEAVE_SANITIZED true
#endif
#ifndef CLEAVE_SANITIZED
#define CLEAVE_SANITIZED false
#endif

namespace cleave::testing {

inline constexpr bool kSanitized = CLEAVE_SANITIZED;

}  // namespace cleave::testing
