#include "executor/cuda/streams.h"

#include <algorithm>

namespace cleave::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kStride = 64;           ///< commands on the compute stream between marks that nobody asked for
constexpr std::size_t kMostDependences = 4096;  ///< remembered for each stream

Error given_up() {
  return {"the run was given up", {}, ErrorKind::machine};
}

/// Waits a little between polls: at first not at all, since most waits are short, then longer and longer up to half a millisecond.
class Backoff {
 public:
  void pause() {
    if (Clock::now() - start_ < std::chrono::microseconds(50)) return std::this_thread::yield();
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, std::chrono::microseconds(500));
  }

 private:
  Clock::time_point start_ = Clock::now();
  std::chrono::microseconds sleep_{10};
};

}  // namespace

Result<std::unique_ptr<CudaStreams>> CudaStreams::open(Context& context, const Options& options) {
  std::unique_ptr<CudaStreams> streams(new CudaStreams(context, options));
  for (Line& line : streams->lines_) {
    Result<StreamHandle> stream = make_stream(context);
    if (!stream) return stream.error();
    line.stream = *std::move(stream);
  }
  streams->pool_.reserve(static_cast<std::size_t>(options.events));
  for (int i = 0; i < options.events; ++i) {
    Result<EventHandle> event = make_event(context);
    if (!event) return event.error();
    streams->pool_.push_back(*std::move(event));
  }
  return streams;
}

void CudaStreams::begin(RunState& run) {
  Lock lock(mutex_);
  run_ = &run;
  told_ = false;
  fault_.reset();
  broken_.reset();
  entered_ = {};
  for (Line& line : lines_) line.dependences.clear();
  aborted_ = false;
}

void CudaStreams::end() {
  Lock lock(mutex_);
  for (Line& line : lines_) finish(lock, line);
  run_ = nullptr;
}

/// Until all that was put into `line` is done. What was given up gets a last chance, then the device counts as lost.
void CudaStreams::finish(Lock& lock, Line& line) {
  std::optional<Clock::time_point> deadline;
  bool last = false;  // a mark stands at the very end
  int failures = 0;
  for (Backoff backoff; !context_.lost();) {
    Status status = reap_all();
    if (status && last && line.marks.empty()) return;
    if (status && !last && !pool_.empty()) {
      status = record_now(line);
      last = status.ok();
    }
    if (!status) {
      if (run_) run_->end(status.error());
      if (++failures == 3) context_.give_up();
    }
    if (aborted_ && !deadline) deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                             std::chrono::duration<double>(options_.patience_seconds));
    if (deadline && Clock::now() > *deadline) context_.give_up();
    lock.unlock();
    backoff.pause();
    lock.lock();
  }
}

Status CudaStreams::enter() {
  if (entered_ == std::this_thread::get_id()) return {};
  if (Status status = context_.enter(); !status) return status;
  entered_ = std::this_thread::get_id();
  return {};
}

Status CudaStreams::make_room(Stream stream) {
  if (aborted_) return given_up();
  if (Status status = enter(); !status) return failed(std::move(status));
  Line& queue = line(stream);
  if (queue.enqueued - queue.completed_seen < kLongest && !broken_seen_) return {};
  Lock lock(mutex_);
  if (broken_) return *broken_;
  return {};
}

}  // namespace cleave::cuda
