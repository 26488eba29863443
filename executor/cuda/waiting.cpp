#include "executor/cuda/waiting.h"

#include <sys/resource.h>

#include <thread>

namespace cleave::runtime::cuda {

Lookout::Sight Lookout::look() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {Clock::now(), usage.ru_nivcsw};
}

void Patience::nap() const {
  const Clock::duration length = Patience::length(Clock::now() - start_);
  if (length == Clock::duration::zero()) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(length);
  }
}

void Patience::relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::uint64_t Sleeper::now() const {
  const std::lock_guard lock(state_->mutex);
  return state_->happened;
}

bool Sleeper::watch(const DriverApi& api, CUcontext context, std::size_t slot, CUevent event) {
  const std::lock_guard lock(state_->mutex);
  Slot& here = state_->slots[slot];
  if (here.event) return true;
  if (!here.started) {
    Result<Thread> thread = Thread::start([state = state_, slot] { work(*state, slot); });
    if (!thread) return false;
    here.thread = *std::move(thread);
    here.started = true;
  }
  here.api = api;
  here.context = context;
  here.event = event;
  state_->changed.notify_all();
  return true;
}

bool Sleeper::watches(std::size_t slot, CUevent event) const {
  const std::lock_guard lock(state_->mutex);
  return state_->slots[slot].event == event;
}

void Sleeper::sleep(std::uint64_t then, std::optional<Lookout::Clock::time_point> deadline) const {
  std::unique_lock lock(state_->mutex);
  const auto happened = [&] { return state_->happened != then; };
  if (deadline) {
    state_->changed.wait_until(lock, *deadline, happened);
  } else {
    state_->changed.wait(lock, happened);
  }
}

void Sleeper::call() {
  const std::lock_guard lock(state_->mutex);
  ++state_->happened;
  state_->changed.notify_all();
}

void Sleeper::end(bool wait) {
  std::array<Thread, kSlots> threads;
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    ++state_->happened;
    for (std::size_t i = 0; i < kSlots; ++i) {
      threads[i] = std::move(state_->slots[i].thread);
      if (!wait) threads[i].detach();
    }
    state_->changed.notify_all();
  }
}

void Sleeper::work(State& state, std::size_t slot) {
  Slot& here = state.slots[slot];
  bool entered = false;
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.over || here.event; });
    if (state.over) return;
    lock.unlock();
    // Errors are ignored here: the waiting threads get the same error from their own query.
    if (!entered) entered = here.api.cuCtxSetCurrent(here.context) == CUDA_SUCCESS;
    if (entered) here.api.cuEventSynchronize(here.event);
    lock.lock();
    here.event = nullptr;
    ++state.happened;
    state.changed.notify_all();
  }
}

}  // namespace cleave::runtime::cuda
