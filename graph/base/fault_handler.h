// Deals with accesses to memory that fault (SIGSEGV, SIGBUS) before whoever did so until then. Knows nothing of what the memory is.
#pragma once

#include <signal.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace cleave {

/// `deal` is asked for the address of every fault of this signal; false: it is not its memory, and the handler that stood before is called,
/// or the process dies as it would have. It runs in a signal handler: it may reach nothing but statics, and call what sigaction(2) allows.
template <int kSignal, bool (*deal)(std::uintptr_t address)>
class FaultHandler {
 public:
  /// Takes effect at the first call.
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
