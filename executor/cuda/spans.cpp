#include "executor/cuda/spans.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

/// Seconds after which a stream gets a new base event. The driver gives milliseconds as a float, which for longer times is less exact than
/// the events.
constexpr double kFarFromBase = 1;

}  // namespace

void Spans::give_back(EventHandle& event) {
  if (event) pool_.push_back(std::exchange(event, EventHandle()));
}

void Spans::give_back(Span& span) {
  for (EventHandle* event : {&span.begin, &span.work, &span.end}) give_back(*event);
}

void Spans::reset() {
  on_ = false;
  give_back(base_);
  for (Lane& lane : lanes_) {
    give_back(lane.open);
    give_back(lane.base);
    for (Span& span : lane.ended) give_back(span);
    for (auto& [sequence, event] : lane.passed) give_back(event);
    lane = {};
  }
}

Status Spans::make(int events) {
  const auto wanted = static_cast<std::size_t>(std::max(events, kFewest));
  pool_.reserve(wanted);
  while (pool_.size() < wanted) {
    Result<EventHandle> event =
        EventHandle::make(context_, "cuEventCreate", [&](CUevent* e) { return context_.api().cuEventCreate(e, CU_EVENT_DEFAULT); });
    if (!event) return event.error();
    pool_.push_back(*std::move(event));
  }
  return {};
}

Status Spans::begin(CUstream stream) {
  return record(base_, stream);
}

Result<bool> Spans::based() {
  const CUresult result = context_.api().cuEventQuery(base_.get());
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (Status status = context_.check("cuEventQuery", result); !status) return status.error();
  base_time_ = now_();
  for (Lane& lane : lanes_) lane.last = base_time_;
  on_ = true;
  return true;
}

void Spans::label(Stream stream, std::uint64_t label) {
  if (!on_) return;
  close(lane(stream));
  lane(stream).label = label;
}

void Spans::close(Lane& lane) {
  if (lane.open.end) lane.ended.push_back(std::exchange(lane.open, {}));
}

std::optional<Event> Spans::in_the_way() const {
  std::optional<Event> first;
  std::size_t most = 0;
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    const Lane& lane = lanes_[s];
    if (lane.ended.size() + lane.passed.size() <= most) continue;
    most = lane.ended.size() + lane.passed.size();
    std::uint64_t sequence = lane.ended.empty() ? lane.passed.front().first : lane.ended.front().sequence;
    if (!lane.passed.empty()) sequence = std::min(sequence, lane.passed.front().first);
    first = {static_cast<Stream>(s), sequence};
  }
  return first;
}

Status Spans::record(EventHandle& event, CUstream into) {
  CLEAVE_CHECK(!pool_.empty() && !event, "no room for another measurement");
  Status status = context_.check("cuEventRecord", context_.api().cuEventRecord(pool_.back().get(), into));
  if (!status) return status;
  event = std::move(pool_.back());
  pool_.pop_back();
  return {};
}

Status Spans::before(Stream stream, CUstream into) {
  Span& open = lane(stream).open;
  open.label = lane(stream).label;
  return open.begin ? Status() : record(open.begin, into);
}

Status Spans::behind_wait(Stream stream, CUstream into) {
  Span& open = lane(stream).open;
  return open.work || open.end ? Status() : record(open.work, into);
}

Status Spans::behind(Stream stream, CUstream into, std::uint64_t sequence) {
  Lane& lane = this->lane(stream);
  Span& open = lane.open;
  if (open.end) lane.passed.emplace_back(open.sequence, std::exchange(open.end, EventHandle()));
  open.sequence = sequence;
  return record(open.end, into);
}

Result<double> Spans::seconds_since(const Lane& lane, const EventHandle& event) const {
  float milliseconds = 0;
  const EventHandle& base = lane.base ? lane.base : base_;
  Status status = context_.check("cuEventElapsedTime", context_.api().cuEventElapsedTime(&milliseconds, base.get(), event.get()));
  if (!status) return status.error();
  return static_cast<double>(milliseconds) / 1000;
}

/// Converts the span's events to host times. Despite rounding, spans of a stream stay in order, and none ends later than `now`, when it was
/// known to have ended.
Result<Measured> Spans::resolve(Lane& lane, Span& span, Clock::time_point now) {
  Measured measured{span.label, lane.last, lane.last, lane.last};
  const std::pair<EventHandle*, Clock::time_point*> times[] = {
      {&span.begin, &measured.begin}, {&span.work, &measured.work}, {&span.end, &measured.end}};
  for (const auto& [event, time] : times) {
    *time = lane.last;
    if (!*event) continue;
    const Result<double> seconds = seconds_since(lane, *event);
    if (!seconds) return seconds.error();
    const auto passed = std::chrono::duration<double>(lane.base_seconds + *seconds);
    lane.last = *time = std::clamp(base_time_ + std::chrono::duration_cast<Clock::duration>(passed), lane.last, std::max(lane.last, now));
    if (event != &span.begin || *seconds < kFarFromBase) continue;
    lane.base_seconds += *seconds;
    std::swap(lane.base, span.begin);
  }
  return measured;
}

Status Spans::read(Stream stream, std::uint64_t completed, bool last) {
  if (!on_) return {};
  Lane& lane = this->lane(stream);
  if (last) close(lane);
  const Clock::time_point now = now_();
  for (; !lane.ended.empty() && lane.ended.front().sequence <= completed; lane.ended.pop_front()) {
    Result<Measured> measured = resolve(lane, lane.ended.front(), now);
    if (!measured) return measured.error();
    lane.read.push_back(*measured);
    give_back(lane.ended.front());
  }
  for (; !lane.passed.empty() && lane.passed.front().first <= completed; lane.passed.pop_front()) give_back(lane.passed.front().second);
  return {};
}

}  // namespace cleave::runtime::cuda
