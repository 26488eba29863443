// Workers: the pool of threads among which host kernels split their work. The process has one pool for each number of threads, shared by
// all its runs; a caller that finds the pool busy executes all pieces itself. The kernel decides how its work is cut into pieces,
// independently of the number of threads, so results are bit-identical for every number.
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
  /// Work on fewer bytes is not worth waking a second thread.
  static constexpr std::int64_t kWorthwhileBytes = 32 << 10;

  /// The number of threads that this process may use: the cores of its affinity mask, or fewer if its control group limits its CPU time.
  static int available();
  /// The pool of `threads` threads, including the caller's; 0: as many as are available. The threads start with the first job that is large
  /// enough; if the system creates fewer, those do all the work.
  static std::shared_ptr<Workers> of(int threads);
  /// A pool of the caller's thread only.
  static Workers& none();

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  [[nodiscard]] int threads() const { return threads_; }

  /// Calls `body(piece)` for each of `pieces`, on any thread in any order, and returns when all are done. An exception of a piece is
  /// rethrown. Before each piece the thread checks whether the caller's work is still wanted (graph/base/stop.h), and it runs under the
  /// caller's stop sign.
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

  /// Calls `body(begin, end)` for consecutive ranges of `count`, each of `grain` elements except the last.
  template <class Body>
  void each_part(std::int64_t count, std::int64_t grain, const Body& body) {
    each((count + grain - 1) / grain, [&](std::int64_t piece) { body(piece * grain, std::min(count, (piece + 1) * grain)); });
  }

 private:
  struct Job {
    void (*piece)(const void* body, std::int64_t piece) = nullptr;
    const void* body = nullptr;
    std::int64_t pieces = 0;
    const StopSign* sign = nullptr;  ///< the caller's
  };
  /// The consecutive pieces assigned to one thread, the same in every job with as many pieces, since the data that the thread touched may
  /// still be in its core's caches. A thread that has finished its range takes pieces of other ranges.
  struct alignas(64) Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  /// One word holds the job's whole state: whether a job is open (top bit), how many threads of the pool work on it (next seven bits), and
  /// its number.
  static constexpr std::uint32_t kOpen = 1U << 31, kInside = 1U << 24, kInsideMask = 127U << 24, kNumberMask = kInside - 1;

  explicit Workers(int threads);
  void start();
  void run(const Job& job);
  void work(int self);
  void wait_on_job(std::uint32_t seen);
  void take_pieces(int self) noexcept;
  void leave_core_of_caller() const;

  const int threads_;
  const bool crowded_;                    ///< there are more threads than cores
  cpu_set_t cores_;                       ///< the cores that the process may use
  const std::chrono::microseconds spin_;  ///< how long a thread spins before it sleeps
  bool started_ = false;
  std::atomic<bool> busy_{false};  ///< the pool has one job at a time
  Job job_;
  std::atomic<int> caller_core_{-1};  ///< core of the job's caller
  std::atomic<std::uint32_t> state_{0};
  std::unique_ptr<Range[]> ranges_;  ///< one a thread, the caller's first
  int at_work_ = 1;                  ///< number of existing threads, including the caller
  std::atomic<bool> failed_{false}, over_{false};
  std::exception_ptr failure_;
  std::vector<Thread> pool_;
};

}  // namespace cleave::runtime
