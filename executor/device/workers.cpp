#include "executor/device/workers.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "graph/base/forks.h"

namespace cleave::runtime {
namespace {

constexpr int kMostThreads = 128;  ///< as many as the state word can count
/// How long a thread spins before it sleeps. A spinning thread joins a job within a microsecond; a sleeping one takes 20 us to wake on an
/// idle core, and milliseconds on a busy one. So threads spin for as long as the other steps of a program take. If there are more threads
/// than cores, spinning takes time from threads that have work.
constexpr std::chrono::microseconds kSpin{1000}, kSpinCrowded{20};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `arrived()`; false: not within `most`.
template <class Arrived>
bool spin(std::chrono::microseconds most, const Arrived& arrived) {
  for (int i = 0; i < 64; ++i) {
    if (arrived()) return true;
    pause();
  }
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (arrived()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() - begin < most);
  return false;
}

/// The CPU time of the control group in cores (cpu.max of version 2, the quota of version 1); 0: no limit is known.
double control_group_cores() {
  double quota = 0, period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period && period > 0) return quota / period;  // "max": no number
  std::ifstream of_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), of_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return of_quota >> quota && of_period >> period && quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace

int Workers::available() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : static_cast<int>(std::thread::hardware_concurrency());
  if (const double limit = control_group_cores(); limit > 0) count = std::min(count, static_cast<int>(std::ceil(limit)));
  return std::clamp(count, 1, kMostThreads);
}

std::shared_ptr<Workers> Workers::of(int threads) {
  struct Known {
    std::mutex mutex;
    std::map<int, std::weak_ptr<Workers>> pools;
  };
  static auto* const known = new PerProcess<Known>;
  Known& here = **known;
  threads = threads <= 0 ? available() : std::min(threads, kMostThreads);
  const std::lock_guard lock(here.mutex);
  std::weak_ptr<Workers>& pool = here.pools[threads];
  std::shared_ptr<Workers> found = pool.lock();
  if (!found) pool = found = std::shared_ptr<Workers>(new Workers(threads));
  return found;
}

Workers& Workers::none() {
  static Workers alone(1);
  return alone;
}

Workers::Workers(int threads) : threads_(threads), crowded_(threads > available()), spin_(crowded_ ? kSpinCrowded : kSpin) {
  CPU_ZERO(&cores_);
  sched_getaffinity(0, sizeof cores_, &cores_);
}

void Workers::start() {
  ranges_ = std::make_unique<Range[]>(static_cast<std::size_t>(threads_));
  started_ = true;
  for (; at_work_ < threads_; ++at_work_) {
    Result<Thread> thread = Thread::start([this, self = at_work_] { work(self); });
    if (!thread) break;
    pool_.push_back(*std::move(thread));
  }
}

Workers::~Workers() {
  over_ = true;
  state_.store((state_.load() + 1) & kNumberMask);  // a different number, so that no thread sleeps on
  state_.notify_all();
}

void Workers::run(const Job& job) {
  if (busy_.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t piece = 0; piece < job.pieces; ++piece) {
      look_at_stop();
      job.piece(job.body, piece);
    }
    return;
  }
  if (!started_) start();
  job_ = job;
  caller_core_.store(sched_getcpu(), std::memory_order_relaxed);
  for (std::int64_t i = 0; i < at_work_; ++i) {
    ranges_[i].next.store((job.pieces * i + at_work_ - 1) / at_work_, std::memory_order_relaxed);
    ranges_[i].end = (job.pieces * (i + 1) + at_work_ - 1) / at_work_;
  }
  failed_.store(false, std::memory_order_relaxed);
  const std::uint32_t number = (state_.load(std::memory_order_relaxed) + 1) & kNumberMask;
  state_.store(kOpen | number, std::memory_order_release);
  state_.notify_all();
  take_pieces(0);
  std::uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  // Each thread that is still inside executes its last piece.
  const auto all_left = [&] { return ((state = state_.load(std::memory_order_acquire)) & kInsideMask) == 0; };
  while (!spin(spin_, all_left)) state_.wait(state, std::memory_order_acquire);
  const std::exception_ptr failure = failed_.load(std::memory_order_relaxed) ? std::exchange(failure_, nullptr) : nullptr;
  busy_.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

void Workers::take_pieces(int self) noexcept {
  const UnderSign under(job_.sign);
  for (int i = 0; i < at_work_; ++i) {
    Range& range = ranges_[(self + i) % at_work_];
    for (;;) {
      const std::int64_t piece = range.next.fetch_add(1, std::memory_order_relaxed);
      if (piece >= range.end) break;
      try {
        look_at_stop();
        job_.piece(job_.body, piece);
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
        for (int k = 0; k < at_work_; ++k) ranges_[k].next.store(ranges_[k].end, std::memory_order_relaxed);
      }
    }
  }
}

/// Waits until the state differs from `seen`.
void Workers::wait_on_job(std::uint32_t seen) {
  if (spin(spin_, [&] { return state_.load(std::memory_order_relaxed) != seen; })) return;
  state_.wait(seen, std::memory_order_relaxed);
}

/// A system that prefers idle cores puts a woken thread on the core of the thread that woke it, and may leave both there although another
/// core is free: then each waits for the other. This moves the thread to another core, if there are enough cores for all threads.
void Workers::leave_core_of_caller() const {
  const int core = caller_core_.load(std::memory_order_relaxed);
  if (crowded_ || core < 0 || core >= CPU_SETSIZE || sched_getcpu() != core) return;
  cpu_set_t others = cores_;
  CPU_CLR(core, &others);
  sched_setaffinity(0, sizeof others, &others);  // if the system refuses, this thread stays
}

void Workers::work(int self) {
  std::uint32_t done = 0;  // number of the last job that this thread worked on
  for (std::uint32_t state = state_.load(); !over_.load(); state = state_.load(std::memory_order_acquire)) {
    if ((state & kOpen) == 0 || (state & kNumberMask) == done) {
      wait_on_job(state);
      continue;
    }
    if (!state_.compare_exchange_weak(state, state + kInside, std::memory_order_acq_rel)) continue;
    done = state & kNumberMask;
    leave_core_of_caller();
    take_pieces(self);
    const std::uint32_t left = state_.fetch_sub(kInside, std::memory_order_acq_rel) - kInside;
    if ((left & (kOpen | kInsideMask)) == 0) state_.notify_all();
  }
}

}  // namespace cleave::runtime
