#include "executor/run/commands/command_queue.h"

#include <algorithm>
#include <utility>

#include "graph/base/exceptions.h"

namespace cleave::runtime {

CommandQueue::CommandQueue(DeviceId id, Device& device, Hazards hazards, bool virtual_time)
    : id_(id),
      device_(device),
      streams_(device.streams()),
      hazards_(std::move(hazards)),
      virtual_time_(virtual_time),
      measured_(id, device.timestamps(), track_) {}

void CommandQueue::begin(RunState& run, const RunOptions& options) {
  run_ = &run;
  rotation = {};
  host_reached = {};
  clock_ = {};
  waited_ = {};
  hazards_.reset();
  lent_.clear();
  track_.begin(options);
  measured_.reset();
}

Status CommandQueue::measure(RunState::Clock::time_point start) {
  if (!track_.on() || virtual_time_) return {};
  return detail::guard_memory([&] { return measured_.begin(start); });
}

void CommandQueue::drain() {
  for (int s = 0; s < kStreamCount; ++s) {
    Status status = detail::guard_memory([&] { return streams_.synchronize(streams_.record(static_cast<Stream>(s))); });
    if (!status && !run_->failed()) run_->end(status.error());
  }
  if (const Status taken = detail::guard_memory([&] { return measured_.take(true); }); !taken && !run_->failed()) run_->end(taken.error());
}

std::optional<Point> CommandQueue::available(std::span<const StorageIndex> storages, const Origin& here) {
  // Memory that a transfer brought was written on another stream than `compute`.
  double time = clock_.ready(Stream::compute);
  if (!wait_for(Stream::compute, {storages, {}, 0}, time, here)) return std::nullopt;
  return Point{streams_.record(Stream::compute), time};
}

void CommandQueue::lend(std::span<const StorageIndex> storages, Loan& loan, std::uint64_t generation) {
  for (const StorageIndex storage : storages)
    if (tracks(storage)) lent_.push_back({storage, &loan, generation});
}

bool CommandQueue::settle(const Loan& loan, std::uint64_t generation, const Origin& here) {
  const auto due = [&](const Lent& each) { return each.loan == &loan && each.generation <= generation; };
  const auto found = std::find_if(lent_.rbegin(), lent_.rend(), due);
  if (found == lent_.rend()) return true;
  const Lent last = *found;
  if (!last.loan->await_return(*this, last.generation, here)) return false;
  std::erase_if(lent_, due);
  return true;
}

bool CommandQueue::take_back(StorageIndex written, double& start, Stream stream, const Origin& here) {
  for (std::size_t i = 0; i < lent_.size();) {
    if (!hazards_.overlap(lent_[i].storage, written)) {
      ++i;
      continue;
    }
    if (!settle(*lent_[i].loan, lent_[i].generation, here)) return false;
    start = std::max(start, clock_.ready(stream));
    i = 0;
  }
  return true;
}

bool CommandQueue::wait_for(Stream stream, const WorkView& work, double& start, const Origin& here) {
  if (!lent_.empty())
    for (const StorageIndex s : work.writes)
      if (!take_back(s, start, stream, here)) return false;
  waits_.clear();
  for (StorageIndex s : work.reads) hazards_.before(stream, s, false, waits_);
  for (StorageIndex s : work.writes) hazards_.before(stream, s, true, waits_);
  for (const Point& point : waits_) {
    start = std::max(start, point.time);
    if (!wait_for(stream, point.event, here)) return false;
  }
  return true;
}

bool CommandQueue::wait_for(Stream stream, const Event& event, const Origin& here) {
  std::uint64_t& waited = waited_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(event.stream)];
  if (waited >= event.sequence) return true;
  waited = event.sequence;
  const Status status = streams_.wait(stream, event);
  return status.ok() || fail(here, status.error());
}

Point CommandQueue::finish(Stream stream, const WorkView& work, double time) {
  clock_.occupy(stream, time);
  const Point point{work.awaited ? streams_.record_awaited(stream) : streams_.record(stream), time};
  for (StorageIndex s : work.reads) hazards_.after(stream, s, false, point);
  for (StorageIndex s : work.writes) hazards_.after(stream, s, true, point);
  return point;
}

bool CommandQueue::fail(const Origin& here, Error error) {
  run_->fail(here, std::move(error));
  return false;
}

void CommandQueue::wait_until(double time, double before, NodeId node) {
  clock_.wait_until(time);
  if (time > before && virtual_time_) track_.add(TimelineEvent::What::wait, id_, node, before, time);
}

void CommandQueue::show(NodeId node, double begin, double end) {
  if (end > begin && virtual_time_) track_.add(TimelineEvent::What::compute, id_, node, begin, end);
}

/// Each value of a coalesced transfer gets its share of the time.
void CommandQueue::show(std::span<const TransferredValue> values, Stream stream) {
  double begin = clock_.last().begin;
  for (const TransferredValue& each : values) {
    const double end = begin + each.seconds;
    if (end > begin && virtual_time_)
      track_.add({TimelineEvent::What::transfer, id_, each.producer, begin, end, each.bytes, lane_of(stream), {}});
    begin = end;
  }
}

}  // namespace cleave::runtime
