#include "executor/cuda/stopwatch.h"

#include <chrono>
#include <thread>

namespace cleave::runtime::cuda {
namespace {

constexpr int kTurns = 5;

}  // namespace

Result<Stopwatch> Stopwatch::make(Context& context, double patience_seconds) {
  Stopwatch watch(context, patience_seconds);
  Result<StreamHandle> stream = make_stream(context);
  if (!stream) return stream.error();
  watch.stream_ = *std::move(stream);
  for (EventHandle* event : {&watch.begin_, &watch.end_}) {
    Result<EventHandle> made =
        EventHandle::make(context, "cuEventCreate", [&](CUevent* e) { return context.api().cuEventCreate(e, CU_EVENT_DEFAULT); });
    if (!made) return made.error();
    *event = *std::move(made);
  }
  return watch;
}

Status Stopwatch::once(const std::function<Status(CUstream)>& work) {
  const Status status = work(stream_.get());
  const Status waited = wait();
  return status ? waited : status;
}

Result<double> Stopwatch::seconds(const std::function<Status(CUstream)>& work) {
  // The enqueued work must have ended before its memory is freed, also if a call failed.
  Status status = put(work);
  if (Status waited = wait(); status) status = waited;
  if (!status) return status.error();
  float milliseconds = 0;
  status = context_->check("cuEventElapsedTime", context_->api().cuEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  if (!status) return status.error();
  return static_cast<double>(milliseconds) / 1000 / kTurns;
}

Status Stopwatch::put(const std::function<Status(CUstream)>& work) {
  const auto record = [&](const EventHandle& event) {
    return context_->check("cuEventRecord", context_->api().cuEventRecord(event.get(), stream_.get()));
  };
  Status status = work(stream_.get());  // warm-up: the first execution loads code and has cold caches
  if (status) status = record(begin_);
  for (int i = 0; status && i < kTurns; ++i) status = work(stream_.get());
  return status;
}

Status Stopwatch::wait() {
  Status status = context_->check("cuEventRecord", context_->api().cuEventRecord(end_.get(), stream_.get()));
  const auto begin = std::chrono::steady_clock::now();
  while (status) {
    const CUresult result = context_->api().cuEventQuery(end_.get());
    if (result != CUDA_ERROR_NOT_READY) return context_->check("cuEventQuery", result);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > patience_seconds_) {
      context_->give_up();  // the memory of the hanging work must not be freed
      return Error{"a trial of a kernel does not end; the GPU counts as lost", {}, ErrorKind::machine};
    }
    std::this_thread::yield();
  }
  return status;
}

}  // namespace cleave::runtime::cuda
