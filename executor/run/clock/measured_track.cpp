#include "executor/run/clock/measured_track.h"

#include <algorithm>
#include <utility>

namespace cleave::runtime {
namespace {

constexpr std::uint64_t kStride = 64;  ///< number of commands after which the device is asked for known times

}  // namespace

void MeasuredTrack::reset() {
  on_ = false;
  for (auto& stream : expected_) stream.clear();
  waits_.clear();
}

Status MeasuredTrack::begin(Clock::time_point start) {
  if (timestamps_)
    if (Status measures = timestamps_->measure(); !measures) return measures;
  on_ = timestamps_ != nullptr;
  start_ = computed_ = start;
  labels_ = compute_label_ = 0;
  unfinished_ = 0;
  return {};
}

Status MeasuredTrack::expect(Stream stream, const Note& note) {
  if (!on_) return {};
  if (!note.node.valid()) {
    timestamps_->label(stream, 0);
    return {};
  }
  timestamps_->label(stream, ++labels_);
  expected_[static_cast<std::size_t>(stream)].push_back({labels_, note});
  if (stream == Stream::compute) compute_label_ = labels_;
  return labels_ % kStride == 0 ? take(false) : Status();
}

void MeasuredTrack::waited(NodeId node, Clock::time_point from) {
  if (on_) waits_.push_back({compute_label_, node, from, Clock::now()});
}

Status MeasuredTrack::take(bool last) {
  Status status;
  for (int s = 0; on_ && s < kStreamCount; ++s)
    if (Status taken = take(static_cast<Stream>(s), last); status) status = std::move(taken);
  if (last) add_waits(labels_ + 1);
  return status;
}

Status MeasuredTrack::take(Stream stream, bool last) {
  known_.clear();
  Status status = timestamps_->measured(stream, last, known_);
  std::deque<Expected>& expected = expected_[static_cast<std::size_t>(stream)];
  for (const Measured& measured : known_) {
    while (expected.front().label < measured.label) expected.pop_front();  // the device executed no work for these
    if (stream == Stream::compute) add_waits(measured.label);
    add(stream, expected.front().note, measured);
    if (stream == Stream::compute) computed_ = measured.end;
    expected.pop_front();
  }
  return status;
}

/// Adds the waits before the compute stream's command `before`; all earlier events are known.
void MeasuredTrack::add_waits(std::uint64_t before) {
  for (; !waits_.empty() && waits_.front().behind < before; waits_.pop_front()) {
    const Wait& wait = waits_.front();
    track_.add(TimelineEvent::What::wait, id_, wait.node, seconds(std::max(wait.from, computed_)), seconds(wait.to));
  }
}

void MeasuredTrack::add(Stream stream, const Note& note, const Measured& measured) {
  using What = TimelineEvent::What;
  track_.add(What::wait, id_, note.node, seconds(measured.begin), seconds(measured.work));
  if (note.what == What::transfer) return add_transfer(stream, note, measured);
  const double before = std::exchange(unfinished_, 0), end = seconds(measured.end), length = before + end - seconds(measured.work);
  if (note.unfinished) {
    unfinished_ = length;
    return;
  }
  const double begin = before > 0 ? end - length : seconds(measured.work);  // an operation of several commands is shown in one go
  track_.add({note.what, id_, note.node, begin, end, 0, TimelineEvent::Lane::steps, note.together});
}

/// The device measures one interval for a coalesced transfer; each value gets a share of it, in proportion to its predicted time.
void MeasuredTrack::add_transfer(Stream stream, const Note& note, const Measured& measured) {
  double predicted = 0, done = 0;
  for (const TransferredValue& each : note.values) predicted += each.seconds;
  const double begin = seconds(measured.work), length = seconds(measured.end) - begin;
  for (const TransferredValue& each : note.values) {
    const double start = begin + length * done;
    done += predicted > 0 ? each.seconds / predicted : 1 / static_cast<double>(note.values.size());
    track_.add(
        {TimelineEvent::What::transfer, id_, each.producer, start, begin + length * std::min(done, 1.0), each.bytes, lane_of(stream), {}});
  }
}

}  // namespace cleave::runtime
