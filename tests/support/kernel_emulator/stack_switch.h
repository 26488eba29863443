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

class StackPlace {
 public:
  /// From here, `start` begins on the stack of `bytes`, whose frames before are forgotten. It never returns.
  void begin(std::byte* stack, std::size_t bytes, void (*start)());
  /// Stays here and goes on at `other`, until somebody switches to this place again.
  void switch_to(StackPlace& other);

 private:
#if CLEAVE_OWN_SWITCH
  void* top_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

}  // namespace cleave::testing
