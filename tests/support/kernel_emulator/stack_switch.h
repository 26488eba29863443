// The suspended state of a fiber or of its scheduler, from which it can be resumed. On x86-64 a switch saves six registers and makes no
// system call, while swapcontext saves the signal mask, which is never changed here, with two. Sanitizers support swapcontext alone.
#pragma once

#include <cstddef>

#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

#if defined(__x86_64__) && !defined(__SHSTK__) && !CLEAVE_SANITIZED
#define CLEAVE_OWN_SWITCH true
#else
#define CLEAVE_OWN_SWITCH false
#include <ucontext.h>
#endif

namespace cleave::testing {

class StackContext {
 public:
  /// Prepares this state so that a switch to it calls `start` on the stack of `bytes`, and discards earlier frames. `start` must never
  /// return.
  void begin(std::byte* stack, std::size_t bytes, void (*start)());
  /// Suspends the running code in this state and resumes `other`; returns at the next switch to this state.
  void switch_to(StackContext& other);

 private:
#if CLEAVE_OWN_SWITCH
  void* top_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

}  // namespace cleave::testing
