// A handler of signals may do next to nothing: ours wakes a thread, which asks the run to stop, and goes on to Python's. It stands only
// while a run is under way, so that whatever handlers Python code sets before or after are left as they are.
#include "tools/python/module/interrupt.h"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace cleave::python {
namespace {

/// Reached by the handler, which gets nothing but a number.
struct Watch {
  sem_t interrupts = {};
  struct sigaction before = {};
  std::atomic<bool> running = false;  ///< a run on the main thread
  std::mutex mutex;
  std::stop_source source;  ///< of that run; written under the mutex, by the main thread alone
};

/// Made before the first handler stands, so that a handler finds it; outlives every thread.
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
    std::stop_source source(std::nostopstate);
    {
      const std::lock_guard lock(watched->mutex);
      if (watched->running) source = watched->source;
    }
    source.request_stop();
  }
}

bool start_watching() {
  if (watched) return true;
  auto made = std::make_unique<Watch>();
  if (::sem_init(&made->interrupts, 0, 0) != 0) return false;
  watched = made.release();
  try {
    std::thread(stop_runs).detach();
  } catch (const std::exception&) {
    delete std::exchange(watched, nullptr);  // no thread to be had: the run goes on to its end
  }
  return watched != nullptr;
}

bool on_main_thread() {
  static const pid_t process = ::getpid();  // a child that was forked has none of our threads
  return ::gettid() == process;
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() {
  if (!on_main_thread() || !start_watching()) return;
  if (watched->running) return;  // a host function of a run has started another one
  if (watched->source.stop_requested()) {
    const std::lock_guard lock(watched->mutex);
    watched->source = std::stop_source();
  }
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  (void)::sigaction(SIGINT, &action, &watched->before);
  const struct sigaction& before = watched->before;
  if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    (void)::sigaction(SIGINT, &before, nullptr);  // who wants Ctrl-C to end the process, or to do nothing, gets that
    return;
  }
  watching_ = true;
  watched->running = true;
}

StopOnInterrupt::~StopOnInterrupt() {
  if (!watching_) return;
  watched->running = false;
  struct sigaction now = {};
  (void)::sigaction(SIGINT, &watched->before, &now);
  if (now.sa_handler != on_interrupt) (void)::sigaction(SIGINT, &now, nullptr);  // a host function has set a handler of its own
}

std::stop_token StopOnInterrupt::token() const {
  return watching_ ? watched->source.get_token() : std::stop_token();
}

}  // namespace cleave::python
