// A handler of signals may do next to nothing: ours wakes a thread, which asks the run to stop, and goes on to Python's. It stands only
// while a run is under way, so that whatever handlers Python code sets before or after are left as they are.
#include "tools/python/module/interrupt.h"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>

namespace cleave::python {
namespace {

/// Reached by the handler, which gets nothing but a number.
struct Watch {
  sem_t interrupts = {};
  struct sigaction before = {};
  std::mutex mutex;
  std::optional<std::stop_source> run;  ///< guarded by the mutex
  std::atomic<bool> started = false;
};

Watch& watch() {
  static Watch* const forever = new Watch;  // outlives every thread
  return *forever;
}

/// Made before the first handler stands, so that a handler finds it.
Watch* watched = nullptr;

void on_interrupt(int signal) {
  const int error = errno;
  (void)::sem_post(&watched->interrupts);
  if (watched->before.sa_handler != SIG_DFL && watched->before.sa_handler != SIG_IGN) watched->before.sa_handler(signal);
  errno = error;
}

void stop_runs() {
  for (;;) {
    while (::sem_wait(&watched->interrupts) != 0) {
    }
    std::optional<std::stop_source> run;
    {
      const std::lock_guard lock(watched->mutex);
      run = watched->run;
    }
    if (run) run->request_stop();
  }
}

bool start_watching() {
  Watch& own = watch();
  if (own.started) return true;
  if (::sem_init(&own.interrupts, 0, 0) != 0) return false;
  watched = &own;
  try {
    std::thread(stop_runs).detach();
  } catch (const std::exception&) {
    return false;  // no thread to be had: the run goes on to its end
  }
  own.started = true;
  return true;
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() {
  if (::gettid() != ::getpid() || !start_watching()) return;
  {
    const std::lock_guard lock(watched->mutex);
    if (watched->run) return;  // a host function of a run has started another one
    source_ = std::stop_source();
    watched->run = source_;
  }
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  watching_ = true;
  (void)::sigaction(SIGINT, &action, &watched->before);
  // Who wants Ctrl-C to end the process, or to do nothing, gets that.
  const bool plain = (watched->before.sa_flags & SA_SIGINFO) == 0;
  if (!plain || watched->before.sa_handler == SIG_DFL || watched->before.sa_handler == SIG_IGN)
    (void)::sigaction(SIGINT, &watched->before, nullptr);
}

StopOnInterrupt::~StopOnInterrupt() {
  if (!watching_) return;
  struct sigaction now = {};
  // A host function may have set a handler of its own meanwhile.
  if (::sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == on_interrupt) (void)::sigaction(SIGINT, &watched->before, nullptr);
  const std::lock_guard lock(watched->mutex);
  watched->run.reset();
}

}  // namespace cleave::python
