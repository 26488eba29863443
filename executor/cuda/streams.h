// CudaStreams: the three streams of a device, and events for their sequence numbers. Events come from a pool that never grows, and are
// recorded only at commands that may be waited for. Every wait (waiting.h) can be given up, and no call waits for the whole device. For a
// timeline, separate events take the times (spans.h).
//
// There are two sources of errors. A driver call may fail, which may lose the device. Or a kernel finds invalid data and says so in
// page-locked words (kernel_source.h): then its stream, and everything that waits for that command or a later one, is poisoned.
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
#include "executor/device/streams.h"
#include "executor/device/timestamps.h"

namespace cleave::runtime::cuda {

class CudaStreams final : public Streams, public Timestamps {
 public:
  struct Options {
    int events = 256;              ///< number of events in the pool; at least 4
    double patience_seconds = 10;  ///< how long work in flight may take to end after a run was given up
    int cores = 0;                 ///< number of cores that this process may use; 0: ask the system
    int timing_events = 2048;  ///< number of events in the pool of the timeline, which is made for the first one; at least Spans::kFewest
  };
  static constexpr std::uint64_t kLongest = 512;  ///< most commands of one stream in flight; with more, enqueueing waits

  /// Invalid data that a kernel found, with the number of its command on the compute stream.
  struct DataFault {
    std::uint64_t sequence = 0;
    Error error;
    NodeId node;
    std::optional<std::int64_t> order;  ///< if the command holds many operations: the position of the node's operation
  };

  ~CudaStreams() override;
  static Result<std::unique_ptr<CudaStreams>> open(Context& context, const Options& options);
  /// `find` gives the first fault, if there is one.
  void watch_faults(std::function<std::optional<DataFault>()> find) { find_fault_ = std::move(find); }

  void begin(RunState& run);
  /// Waits until nothing is in flight any more or the device is lost.
  void end();
  /// Enqueues a command into `stream` by `call(CUstream, number)`, where `number` is the command's number in the stream. One thread at a
  /// time. The command stands for `operations` operations, the first of them at `origin`.
  template <class Call>
  Status enqueue(Stream stream, const Origin& origin, Call&& call, std::uint64_t operations = 1) {
    // The origin is stored before the call, because the waiting thread may find a fault of this command before the call returns.
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
  Event record(Stream stream) override { return record(stream, false); }
  Event record_awaited(Stream stream) override { return record(stream, true); }
  Status wait(Stream stream, Event event) override;
  Status synchronize(Event event) override;
  [[nodiscard]] bool passed(Event event) override;
  /// Polls until `there()` is true, because the driver cannot wake a thread for a word in memory. Gives up if the run is aborted or
  /// `stops()`.
  Status await(const std::function<bool()>& there, const std::function<bool()>& stops);
  /// An Error if a command of the compute stream up to `sequence`, which must have completed, found invalid data.
  Status sound(std::uint64_t sequence);
  void abort();

  // --- times (spans.h), called by the enqueuing thread; prepare_to_measure comes before that thread exists -----------------------------
  Status prepare_to_measure() override;
  Status measure() override;
  void label(Stream stream, std::uint64_t label) override { spans_.label(stream, label); }
  /// Called after a command's own wait for the host, so that the wait is not counted as work.
  Status behind_wait(Stream stream) { return spans_.labelled(stream) ? spans_.behind_wait(stream, line(stream).stream.get()) : Status(); }
  Status measured(Stream stream, bool last, std::vector<Measured>& to) override;

 private:
  /// A driver event that was recorded after command `sequence` of a stream.
  struct Mark {
    std::uint64_t sequence = 0;
    EventHandle event;
  };
  /// From command `sequence` on, a stream's commands run after command `compute` of the compute stream.
  struct Dependence {
    std::uint64_t sequence = 0, compute = 0;
  };
  struct Line {
    StreamHandle stream;
    std::uint64_t enqueued = 0, completed = 0;
    std::deque<Mark> marks;  ///< in order; not known to be complete
    EventHandle resting;     ///< complete, but still used by the sleeper
    std::deque<Dependence> dependences;
  };
  using Lock = std::unique_lock<std::mutex>;

  CudaStreams(Context& context, const Options& options);
  Line& line(Stream stream) { return lines_[static_cast<std::size_t>(stream)]; }

  Event record(Stream stream, bool awaited);
  /// Makes the context current on the calling (enqueuing) thread, if it is not yet.
  Status enter();
  /// Makes room for one more command, and stores its origin.
  Status announce(Stream stream, const Origin& origin, std::uint64_t operations);
  void count(Stream stream);
  Status failed(Status status);
  Status begin_span(Stream stream);
  Status record_now(Line& line);
  /// Makes sure that a mark exists at command `sequence` or a later one.
  Status mark(Lock& lock, Line& line, std::uint64_t sequence);
  /// Queries the marks and updates `line.completed`.
  Status reap(Line& line);
  Status reap_all();
  /// Waits until `done()`; an Error if the run is given up or a call fails.
  Status wait_until(Lock& lock, const std::function<bool()>& done);
  /// Spins or sleeps, without the lock, until another query is worthwhile. `then` is the value of Sleeper::now() at the last query.
  void pause(Lock& lock, Lookout& lookout, std::uint64_t then, std::optional<Lookout::Clock::time_point> deadline = std::nullopt);
  [[nodiscard]] Lookout lookout() const { return {cores_, 1 + waiting_}; }
  Status look_after();
  void look_for_faults();
  /// Returns `status`, after telling the run if the device is lost.
  Status told(Status status);
  /// The last command of the compute stream that `event` depends on.
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
  /// Origins, and numbers of operations, of the compute stream's commands in flight; index: command number modulo kLongest.
  std::vector<Origin> origins_;
  std::vector<std::uint64_t> operations_;
  std::optional<DataFault> fault_;
  std::optional<Error> broken_;  ///< a failure in a function that could not return it
  RunState* run_ = nullptr;
  bool told_ = false;
  std::thread::id entered_;  ///< the thread that enqueues, once it has entered the context
  std::atomic<bool> aborted_ = false;
  int waiting_ = 0;  ///< number of threads that wait without sleeping
  Sleeper sleeper_;  ///< last, so that it is destroyed before the events
};

}  // namespace cleave::runtime::cuda
