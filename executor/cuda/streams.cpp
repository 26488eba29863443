#include "executor/cuda/streams.h"

#include <algorithm>

#include "executor/device/workers.h"

namespace cleave::runtime::cuda {
namespace {

using Clock = Lookout::Clock;

constexpr std::uint64_t kStride = 64;           ///< commands on the compute stream after which a mark is recorded in any case
constexpr std::size_t kMostDependences = 4096;  ///< stored for each stream; older ones are dropped

Error given_up() {
  return {"the run was given up", {}, ErrorKind::machine};
}

}  // namespace

CudaStreams::CudaStreams(Context& context, const Options& options)
    : context_(context),
      options_(options),
      cores_(options.cores > 0 ? options.cores : Workers::available()),
      spans_(context),
      origins_(kLongest),
      operations_(kLongest) {}

CudaStreams::~CudaStreams() {
  sleeper_.end(!context_.stuck());
}

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
  spans_.reset();
  for (Line& line : lines_) line.dependences.clear();
  aborted_ = false;
}

void CudaStreams::end() {
  Lock lock(mutex_);
  for (Line& line : lines_) finish(lock, line);
  run_ = nullptr;
}

/// Waits until all commands of `line` are done. After an abort it waits `patience_seconds` longer, then the device counts as lost.
void CudaStreams::finish(Lock& lock, Line& line) {
  std::optional<Clock::time_point> deadline;
  bool last = false;  // true once the last command has a mark
  int failures = 0;
  for (Lookout lookout = this->lookout(); !context_.lost();) {
    const std::uint64_t then = sleeper_.now();
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
    if (aborted_ && !deadline)
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.patience_seconds));
    if (deadline && Clock::now() > *deadline) context_.give_up();
    pause(lock, lookout, then, deadline);
  }
}

Status CudaStreams::enter() {
  if (entered_ == std::this_thread::get_id()) return {};
  if (Status status = context_.enter(); !status) return status;
  entered_ = std::this_thread::get_id();
  return {};
}

Status CudaStreams::announce(Stream stream, const Origin& origin, std::uint64_t operations) {
  if (aborted_) return given_up();
  if (Status status = enter(); !status) return failed(std::move(status));
  Lock lock(mutex_);
  if (broken_) return *broken_;
  Line& queue = line(stream);
  if (queue.enqueued - queue.completed >= kLongest) {
    Status status = mark(lock, queue, queue.enqueued);
    if (status) status = wait_until(lock, [&] { return queue.enqueued - queue.completed <= kLongest / 2; });
    if (!status) return told(std::move(status));
  }
  if (stream != Stream::compute) return {};
  origins_[(queue.enqueued + 1) % kLongest] = origin;
  operations_[(queue.enqueued + 1) % kLongest] = operations;
  return {};
}

void CudaStreams::count(Stream stream) {
  Lock lock(mutex_);
  Line& queue = line(stream);
  ++queue.enqueued;
  if (stream != Stream::compute) return;
  const std::uint64_t marked = queue.marks.empty() ? queue.completed : queue.marks.back().sequence;
  if (queue.enqueued - marked < kStride || pool_.empty()) return;
  if (Status status = record_now(queue); !status && !broken_) broken_ = told(std::move(status)).error();
}

Status CudaStreams::failed(Status status) {
  Lock lock(mutex_);
  return told(std::move(status));
}

Status CudaStreams::prepare_to_measure() {
  const Context::Visit visit(context_);
  return visit.status() ? spans_.make(options_.timing_events) : visit.status();
}

Status CudaStreams::measure() {
  Status status = enter();
  if (status) status = spans_.begin(line(Stream::compute).stream.get());
  for (Result<bool> based = false; status && !*based;) {
    if (aborted_) return given_up();
    based = spans_.based();
    if (!based) status = based.error();
    if (based && !*based) std::this_thread::yield();
  }
  return status ? status : failed(std::move(status));
}

/// Begins the measurement of the next command of `stream`. If the timing events are used up, waits until measured commands complete.
Status CudaStreams::begin_span(Stream stream) {
  while (!spans_.has_room()) {
    const std::optional<Event> awaited = spans_.in_the_way();
    CLEAVE_CHECK(awaited.has_value(), "events are missing");
    Line& queue = line(awaited->stream);
    Lock lock(mutex_);
    Status status = mark(lock, queue, awaited->sequence);
    if (status) status = wait_until(lock, [&] { return queue.completed >= awaited->sequence; });
    if (status) status = spans_.read(awaited->stream, queue.completed, false);
    if (!status) return told(std::move(status));
  }
  Status status = spans_.before(stream, line(stream).stream.get());
  return status ? status : failed(std::move(status));
}

Status CudaStreams::measured(Stream stream, bool last, std::vector<Measured>& to) {
  Status status = enter();
  Lock lock(mutex_);
  if (status) status = reap(line(stream));
  if (status) status = spans_.read(stream, line(stream).completed, last);
  spans_.take(stream, to);
  return status ? status : told(std::move(status));
}

Event CudaStreams::record(Stream stream, bool awaited) {
  Status status = enter();
  Lock lock(mutex_);
  Line& queue = line(stream);
  // Events of copies are always waited for, so they are recorded. Events of the compute stream mostly are not; without an own event, a wait
  // uses a later mark.
  if (status && (stream != Stream::compute || (awaited && !pool_.empty()))) status = mark(lock, queue, queue.enqueued);
  if (!status && !broken_) broken_ = told(std::move(status)).error();
  return {stream, queue.enqueued};
}

Status CudaStreams::wait(Stream stream, Event event) {
  if (event.sequence == 0 || event.stream == stream) return {};
  if (Status status = enter(); !status) return failed(std::move(status));
  Lock lock(mutex_);
  Line& waiting = line(stream);
  Line& awaited = line(event.stream);
  if (stream != Stream::compute) {
    const std::uint64_t compute = depends_on(event);
    if (waiting.dependences.empty() || waiting.dependences.back().compute < compute)
      waiting.dependences.push_back({waiting.enqueued + 1, compute});
    if (waiting.dependences.size() > kMostDependences) waiting.dependences.pop_front();
  }
  if (Status status = mark(lock, awaited, event.sequence); !status) return told(std::move(status));
  const auto behind = std::find_if(awaited.marks.begin(), awaited.marks.end(), [&](const Mark& m) { return m.sequence >= event.sequence; });
  if (behind == awaited.marks.end()) return {};  // completed already
  return told(context_.check("cuStreamWaitEvent",
                             context_.api().cuStreamWaitEvent(waiting.stream.get(), behind->event.get(), CU_EVENT_WAIT_DEFAULT)));
}

Status CudaStreams::synchronize(Event event) {
  if (event.sequence == 0) return {};
  const Context::Visit visit(context_);
  if (!visit.status()) return failed(visit.status());
  Lock lock(mutex_);
  Line& awaited = line(event.stream);
  Status status = mark(lock, awaited, event.sequence);
  if (status) status = wait_until(lock, [&] { return awaited.completed >= event.sequence; });
  if (fault_ && depends_on(event) >= fault_->sequence) return fault_->error;
  if (!status) return told(std::move(status));
  if (broken_) return *broken_;
  if (aborted_) return given_up();
  return {};
}

bool CudaStreams::passed(Event event) {
  if (event.sequence == 0) return true;
  const Context::Visit visit(context_);
  const Lock lock(mutex_);
  Line& awaited = line(event.stream);
  if (awaited.completed < event.sequence && (!visit.status() || !reap(awaited))) return false;  // a waiter gets the error
  return awaited.completed >= event.sequence;
}

Status CudaStreams::await(const std::function<bool()>& there, const std::function<bool()>& stops) {
  const auto over = [&] { return there() || aborted_ || stops(); };
  const auto seen = [&] {
    for (int i = 0; i < Patience::kGlances; ++i, Patience::relax())
      if (over()) return true;
    return false;
  };
  if (seen()) return there() ? Status() : given_up();
  Lock lock(mutex_);
  Lookout lookout = this->lookout();
  ++waiting_;
  lock.unlock();
  while (lookout.goes_on() && !seen()) {
  }
  lock.lock();
  --waiting_;
  for (Patience patience; !over();) {
    if (Status status = look_after(); !status) return told(std::move(status));
    if (over()) break;
    lock.unlock();
    patience.nap();
    lock.lock();
  }
  return there() ? Status() : given_up();
}

/// Records a mark if the compute stream has none, and queries all marks, so that a lost device is noticed although no thread waits for an
/// event.
Status CudaStreams::look_after() {
  const Context::Visit visit(context_);
  if (!visit.status()) return visit.status();
  Line& compute = line(Stream::compute);
  if (compute.marks.empty() && compute.completed < compute.enqueued && !pool_.empty())
    if (Status status = record_now(compute); !status) return status;
  return reap_all();
}

Status CudaStreams::sound(std::uint64_t sequence) {
  if (!find_fault_ || !find_fault_()) return {};
  const Lock lock(mutex_);
  look_for_faults();
  return fault_ && fault_->sequence <= sequence ? Status(fault_->error) : Status();
}

void CudaStreams::abort() {
  aborted_ = true;
  sleeper_.call();
}

Status CudaStreams::record_now(Line& line) {
  Status status = context_.check("cuEventRecord", context_.api().cuEventRecord(pool_.back().get(), line.stream.get()));
  if (!status) return status;
  line.marks.push_back({line.enqueued, std::move(pool_.back())});
  pool_.pop_back();
  return {};
}

Status CudaStreams::mark(Lock& lock, Line& line, std::uint64_t sequence) {
  const auto marked = [&] { return line.completed >= sequence || (!line.marks.empty() && line.marks.back().sequence >= sequence); };
  if (marked()) return {};
  if (Status status = wait_until(lock, [&] { return !pool_.empty() || marked(); }); !status) return status;
  return marked() ? Status() : record_now(line);
}

Status CudaStreams::wait_until(Lock& lock, const std::function<bool()>& done) {
  for (Lookout lookout = this->lookout(); !done();) {
    const std::uint64_t then = sleeper_.now();
    if (aborted_) return given_up();
    if (Status status = reap_all(); !status) return status;
    if (done()) break;
    pause(lock, lookout, then);
  }
  return {};
}

void CudaStreams::pause(Lock& lock, Lookout& lookout, std::uint64_t then, std::optional<Clock::time_point> deadline) {
  bool asleep = !lookout.goes_on(), watched = false;
  for (std::size_t i = 0; asleep && i < lines_.size(); ++i) {
    if (lines_[i].marks.empty()) continue;
    watched = true;
    asleep = sleeper_.watch(context_.api(), context_.handle(), i, lines_[i].marks.front().event.get());
  }
  asleep = asleep && watched;
  if (!asleep) ++waiting_;
  lock.unlock();
  if (asleep) {
    sleeper_.sleep(then, deadline);
  } else {
    std::this_thread::yield();
  }
  lock.lock();
  if (!asleep) --waiting_;
}

Status CudaStreams::reap_all() {
  for (Line& line : lines_) {
    if (Status status = reap(line); !status) return status;
  }
  return {};
}

Status CudaStreams::reap(Line& line) {
  const auto slot = static_cast<std::size_t>(&line - lines_.data());
  if (line.resting && !sleeper_.watches(slot, line.resting.get())) pool_.push_back(std::exchange(line.resting, EventHandle()));
  while (!line.marks.empty()) {
    const CUresult result = context_.api().cuEventQuery(line.marks.front().event.get());
    if (result == CUDA_ERROR_NOT_READY) return {};
    if (Status status = context_.check("cuEventQuery", result); !status) return status;
    line.completed = line.marks.front().sequence;
    EventHandle& event = line.marks.front().event;
    if (sleeper_.watches(slot, event.get())) {
      line.resting = std::move(event);
    } else {
      pool_.push_back(std::move(event));
    }
    line.marks.pop_front();
    look_for_faults();
    if (run_) run_->progress();
  }
  return {};
}

void CudaStreams::look_for_faults() {
  if (fault_ || !run_ || !find_fault_) return;
  fault_ = find_fault_();
  if (!fault_) return;
  Origin origin = origins_[fault_->sequence % kLongest];
  if (fault_->order && operations_[fault_->sequence % kLongest] > 1) {
    origin.node = fault_->node;
    origin.position.back() = *fault_->order;
  }
  run_->fail(origin, fault_->error);
}

Status CudaStreams::told(Status status) {
  if (!status && broken_) status = *broken_;  // the first failure
  const Line& compute = line(Stream::compute);
  if (status || !context_.lost() || told_ || !run_ || compute.completed == compute.enqueued) return status;
  told_ = true;
  Error error = status.error();
  std::uint64_t operations = 0;
  for (std::uint64_t i = compute.completed + 1; i <= compute.enqueued; ++i) operations += operations_[i % kLongest];
  if (operations > 1) {
    error.message += "; it happened here or in one of the " + std::to_string(operations - 1) + " operations after this one";
    if (operations > compute.enqueued - compute.completed) error.message += ", some launched as one: in stream mode each is by itself";
  }
  run_->fail(origins_[(compute.completed + 1) % kLongest], std::move(error));
  return status;
}

std::uint64_t CudaStreams::depends_on(Event event) const {
  if (event.stream == Stream::compute) return event.sequence;
  const std::deque<Dependence>& known = lines_[static_cast<std::size_t>(event.stream)].dependences;
  const auto after =
      std::upper_bound(known.begin(), known.end(), event.sequence, [](std::uint64_t s, const Dependence& d) { return s < d.sequence; });
  return after == known.begin() ? 0 : std::prev(after)->compute;
}

}  // namespace cleave::runtime::cuda
