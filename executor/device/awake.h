// stay_awake: a short wait without sleep before a wait on a condition variable, because a thread that sleeps takes tens of microseconds to
// wake, and longer in a virtual machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace cleave::runtime {

/// Whether this process has a core for a thread that only waits. With few cores, such a thread would take the core that the thread that it
/// waits for needs.
bool has_core_to_wait();

/// Returns once `ready()`, which is called under the lock, is true, or `longest` has passed. `changes` must grow, after the change,
/// whenever `ready()` may have become true.
template <class Ready>
void stay_awake(std::unique_lock<std::mutex>& lock, const std::atomic<std::uint64_t>& changes, std::chrono::microseconds longest,
                const Ready& ready) {
  using Clock = std::chrono::steady_clock;
  if (!has_core_to_wait()) return;
  const Clock::time_point end = Clock::now() + longest;
  for (bool late = false; !late && !ready();) {
    const std::uint64_t seen = changes.load(std::memory_order_relaxed);
    lock.unlock();
    while (!late && changes.load(std::memory_order_relaxed) == seen) late = Clock::now() >= end;
    lock.lock();
  }
}

}  // namespace cleave::runtime
