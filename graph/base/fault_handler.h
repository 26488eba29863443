// FaultHandler: a signal handler for faulting memory accesses (SIGSEGV, SIGBUS) that takes precedence over the previously installed one. It
// knows nothing of the memory's use.
#pragma once

#include <signal.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace cleave {

/// Calls `deal` with the address of every fault of this signal. If it returns false (the memory is not its own), the previous handler is
/// called, or the default action is taken. `deal` runs in a signal handler: it may access only statics and call only async-signal-safe
/// functions.
template <int kSignal, bool (*deal)(std::uintptr_t address)>
class FaultHandler {
 public:
  /// Only the first call has an effect.
  static void install() {
    static std::once_flag once;
    std::call_once(once, [] {
      struct sigaction action;
      std::memset(&action, 0, sizeof action);
      action.sa_sigaction = handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigemptyset(&action.sa_mask);
      sigaction(kSignal, &action, &previous_);
    });
  }

 private:
  static void handle(int signal, siginfo_t* info, void* context) {
    if (deal(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
    if (previous_.sa_flags & SA_SIGINFO) {
      previous_.sa_sigaction(signal, info, context);
    } else if (previous_.sa_handler != SIG_DFL && previous_.sa_handler != SIG_IGN) {
      previous_.sa_handler(signal);
    } else {
      sigaction(signal, &previous_, nullptr);  // faults again
    }
  }

  static inline struct sigaction previous_;
};

}  // namespace cleave
