// CudaStreams: the three streams of a device, and events for their sequence numbers. An event is recorded where somebody may wait for it,
// from a pool that never grows; every wait (waiting.h) can be given up. No call here waits for the whole device. Where a timeline is asked
// for, other events take the time (spans.h).
//
// Errors come by two ways. One of the driver's calls fails: that loses the device or not. Or a kernel finds its data wrong and says so in
// page-locked words (kernel_source.h): then its stream, and all that waits for it from there on, is poisoned.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "executor/cuda/resources.h"
#include "executor/cuda/spans.h"
#include "executor/cuda/waiting.h"
#include "executor/device/run_state.h"

namespace cleave::runtime::cuda {

class CudaStreams {
 public:
  struct Options {
    int events = 256;              ///< in the pool; at least 4
    double patience_seconds = 10;  ///< how long work in flight may take to end once a run was given up
    int cores = 0;                 ///< that this process may use; 0: as the system says
    int timing_events = 2048;      ///< in another pool, made for the first timeline; at least Spans::kFewest
  };
  static constexpr std::uint64_t kLongest = 512;  ///< commands of one stream in flight before enqueueing waits

  /// What a kernel found wrong, by the number of its command on the compute stream.
  struct DataFault {
    std::uint64_t sequence = 0;
    Error error;
    NodeId node;
    std::optional<std::int64_t> order;  ///< where the command is many operations: of the node's
  };

  ~CudaStreams();
  static Result<std::unique_ptr<CudaStreams>> open(Context& context, const Options& options);
  /// `find` gives the first fault there is, if any.
  void watch_faults(std::function<std::optional<DataFault>()> find) { find_fault_ = std::move(find); }

  void begin(RunState& run);
  /// Returns when nothing is in flight any more, or the device is lost.
  void end();
  /// Puts a command into `stream`: `call(CUstream, number)` does it; the number is the command's own in the stream. One thread at a time.
  /// `operations`: how many it is, the first of them at `origin`.
  template <class Call>
  Status enqueue(Stream stream, const Origin& origin, Call&& call, std::uint64_t operations = 1) {
    // What it is done for is known before it is done: the waiting thread may find a fault of it before this one comes back.
    if (Status status = announce(stream, origin, operations); !status) return status;
    Line& queue = line(stream);
    const bool measured = spans_.labelled(stream);
    if (measured)
      if (Status status = begin_span(stream); !status) return status;
    if (Status status = call(queue.stream.get(), queue.enqueued + 1); !status) return failed(std::move(status));
    Status status = measured ? spans_.behind(stream, queue.stream.get(), queue.enqueued + 1) : Status();
    count(stream);
    return status ? status : failed(std::move(status));
  }
  Event record(Stream stream, bool awaited = false);
  Status wait(Stream stream, Event event);
  /// From any thread.
  Status synchronize(Event event);
  [[nodiscard]] bool passed(Event event);
  /// Until `there()`, by looking: the driver wakes nobody for a word in memory. Gives up with the run, or once the run `stops`.
  Status await(const std::function<bool()>& there, const std::function<bool()>& stops);
  /// An Error if a command of the compute stream up to `sequence`, which is done, found its data wrong.
  Status sound(std::uint64_t sequence);
  void abort();

  // --- times (spans.h): by the thread that enqueues; the first before there is one ----------------------------------------------------
  Status prepare_to_measure() { return spans_.make(options_.timing_events); }
  Status measure();
  void label(Stream stream, std::uint64_t label) { spans_.label(stream, label); }
  /// Behind a command's own wait for the host, which is no part of what it does.
  Status behind_wait(Stream stream) { return spans_.labelled(stream) ? spans_.behind_wait(stream, line(stream).stream.get()) : Status(); }
  Status measured(Stream stream, bool last, std::vector<Measured>& to);

 private:
  /// An event of the driver that stands behind a stream's command.
  struct Mark {
    std::uint64_t sequence = 0;
    EventHandle event;
  };
  /// From command `sequence` on, a stream stands behind the compute stream's `compute`.
  struct Dependence {
    std::uint64_t sequence = 0, compute = 0;
  };
  struct Line {
    StreamHandle stream;
    std::uint64_t enqueued = 0, completed = 0;
    std::deque<Mark> marks;  ///< not known to be complete, in order
    EventHandle resting;     ///< complete, and the sleeper has not let go of it yet
    std::deque<Dependence> dependences;
  };
  using Lock = std::unique_lock<std::mutex>;

  CudaStreams(Context& context, const Options& options);
  Line& line(Stream stream) { return lines_[static_cast<std::size_t>(stream)]; }

  /// Makes the calling thread, which enqueues, one that the driver knows.
  Status enter();
  /// Makes room for one more command, and remembers what the next one is for.
  Status announce(Stream stream, const Origin& origin, std::uint64_t operations);
  void count(Stream stream);
  Status failed(Status status);
  Status begin_span(Stream stream);
  Status record_now(Line& line);
  /// Makes sure that some mark stands at `sequence` or behind it.
  Status mark(Lock& lock, Line& line, std::uint64_t sequence);
  /// Takes note of what is done by now.
  Status reap(Line& line);
  Status reap_all();
  /// Until `done()`; an Error if the run is given up or a call fails.
  Status wait_until(Lock& lock, const std::function<bool()>& done);
  /// Looks on or sleeps, without the lock, until it is worth it to look again at what is done. `then`: the sleeper's time at the last look.
  void pause(Lock& lock, Lookout& lookout, std::uint64_t then, std::optional<Lookout::Clock::time_point> deadline = std::nullopt);
  [[nodiscard]] Lookout lookout() const { return {cores_, 1 + waiting_}; }
  Status look_after();
  void look_for_faults();
  /// `status`, told to the run where it means that the device is lost.
  Status told(Status status);
  /// The last command of the compute stream that `event` stands behind.
  [[nodiscard]] std::uint64_t depends_on(Event event) const;
  void finish(Lock& lock, Line& line);

  Context& context_;
  const Options options_;
  const int cores_;
  std::function<std::optional<DataFault>()> find_fault_;
  std::mutex mutex_;
  std::array<Line, kStreamCount> lines_;
  std::vector<EventHandle> pool_;
  Spans spans_;
  /// Of the compute stream's commands in flight, by number modulo kLongest.
  std::vector<Origin> origins_;
  std::vector<std::uint64_t> operations_;
  std::optional<DataFault> fault_;
  std::optional<Error> broken_;  ///< a failure that could not be returned where it happened
  RunState* run_ = nullptr;
  bool told_ = false;
  std::thread::id entered_;  ///< the thread that enqueues, once it has entered the context
  std::atomic<bool> aborted_ = false;
  int waiting_ = 0;  ///< threads that do, but for those asleep
  Sleeper sleeper_;  ///< last: it ends before the events
};

}  // namespace cleave::runtime::cuda
