// Workers: the threads on which kernels of the host split their work. One pool for as many threads a process, shared by all that runs in
// it; who finds it busy does all pieces itself. How work is cut into pieces is the kernel's to say and never depends on the number of
// threads, so results are equal to the bit for every number.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "executor/runtime.h"
#include "graph/base/stop.h"
#include "graph/base/thread.h"

namespace cleave::runtime {

class Workers {
 public:
  /// Bytes of work below which no second thread is worth waking.
  static constexpr std::int64_t kWorthwhileBytes = 32 << 10;

  /// How many threads this process is given: the cores of its affinity, or less where its control group has less time.
  static int available();
  /// The pool of `threads`, the caller's included; 0: as many as are available. They start with the first work that is worth it; where the
  /// system gives fewer, fewer do all the work.
  static std::shared_ptr<Workers> of(int threads);
  /// The caller alone.
  static Workers& none();

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  [[nodiscard]] int threads() const { return threads_; }

  /// `body(piece)` for each of `pieces`, on any thread in any order, and returns when all are done. What a piece throws, it throws. Before
  /// each piece the thread looks whether the caller's work is still wanted (graph/base/stop.h), and works under the caller's sign.
  template <class Body>
  void each(std::int64_t pieces, const Body& body) {
    if (pieces <= 1 || threads_ == 1) {
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        look_at_stop();
        body(piece);
      }
      return;
    }
    run({[](const void* data, std::int64_t piece) { (*static_cast<const Body*>(data))(piece); }, &body, pieces, detail::stop_sign});
  }

  /// `body(begin, end)` for neighbouring parts of `count`, each of `grain` but the last.
  template <class Body>
  void each_part(std::int64_t count, std::int64_t grain, const Body& body) {
    each((count + grain - 1) / grain, [&](std::int64_t piece) { body(piece * grain, std::min(count, (piece + 1) * grain)); });
  }

 private:
  struct Job {
    void (*piece)(const void* body, std::int64_t piece) = nullptr;
    const void* body = nullptr;
    std::int64_t pieces = 0;
    const StopSign* sign = nullptr;  ///< of the caller
  };
  /// Each thread has neighbouring pieces of its own, the same ones in every job of as many: what it read and wrote there may still lie in
  /// its core's caches. Who is done with them takes those of others.
  struct alignas(64) Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  /// One word says all: whether a job is open (top bit), how many threads of the pool are at it (next seven), and its number.
  static constexpr std::uint32_t kOpen = 1U << 31, kInside = 1U << 24, kInsideMask = 127U << 24, kNumberMask = kInside - 1;

  explicit Workers(int threads);
  void start();
  void run(const Job& job);
  void work(int self);
  void wait_on_job(std::uint32_t seen);
  void take_pieces(int self) noexcept;
  void leave_core_of_caller() const;

  const int threads_;
  const bool crowded_;                    ///< with more threads than cores
  cpu_set_t cores_;                       ///< that the process may use
  const std::chrono::microseconds spin_;  ///< for how long a thread looks out before it sleeps
  bool started_ = false;
  std::atomic<bool> busy_{false};  ///< with the one job that it has at a time
  Job job_;
  std::atomic<int> caller_core_{-1};  ///< of the job
  std::atomic<std::uint32_t> state_{0};
  std::unique_ptr<Range[]> ranges_;  ///< the caller's first
  int at_work_ = 1;                  ///< threads that there are, the caller included
  std::atomic<bool> failed_{false}, over_{false};
  std::exception_ptr failure_;
  std::vector<Thread> pool_;
};

}  // namespace cleave::runtime
