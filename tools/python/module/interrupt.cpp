// Only few functions may be called in a signal handler: ours wakes a thread, which asks the run to stop, and then calls Python's handler.
// It is installed only during a run, so that handlers that Python code sets before or after stay untouched.
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

/// State of the signal handler, which has only a signal number as argument.
struct Watch {
  sem_t interrupts = {};
  struct sigaction before = {};
  std::atomic<bool> running = false;  ///< a run on the main thread
  std::mutex mutex;
  std::stop_source source;  ///< stops that run; written by the main thread alone, under the mutex
};

/// Set before the first handler is installed, so that handlers always find it; outlives every thread.
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
    delete std::exchange(watched, nullptr);  // no thread is available: the run cannot be interrupted
  }
  return watched != nullptr;
}

bool on_main_thread() {
  static const pid_t process = ::getpid();  // a forked child has none of our threads
  return ::gettid() == process;
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() {
  if (!on_main_thread() || !start_watching()) return;
  if (watched->running) return;  // a host function of a run has started another run
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
    (void)::sigaction(SIGINT, &before, nullptr);  // Ctrl-C keeps its action: the default, none, or a SA_SIGINFO handler
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
  if (now.sa_handler != on_interrupt) (void)::sigaction(SIGINT, &now, nullptr);  // a host function has installed a handler of its own
}

std::stop_token StopOnInterrupt::token() const {
  return watching_ ? watched->source.get_token() : std::stop_token();
}

}  // namespace cleave::python
