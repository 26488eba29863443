// Spans: measures when labelled commands began and ended on the GPU, with timing events from a pool. Events are recorded only while a
// timeline is wanted. Only the enqueuing thread calls it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "executor/cuda/resources.h"
#include "executor/device/timestamps.h"

namespace cleave::runtime::cuda {

class Spans {
 public:
  using Clock = RunState::Clock;
  static constexpr int kFewest = 16;  ///< the smallest pool that works: open spans of each stream hold some events

  explicit Spans(const Context& context, std::function<Clock::time_point()> now = Clock::now) : context_(context), now_(std::move(now)) {}

  /// Turns measuring off, before a run. The device must be idle.
  void reset();
  /// Creates events until there are `events` of them.
  Status make(int events);
  /// Records the base event, the zero of all times, into `stream`.
  Status begin(CUstream stream);
  /// True once the base event is done. Its host time is then taken as now, which is late by the time of one query: some microseconds, or
  /// longer if another thread had the core meanwhile. So all GPU times are late by that much against the host's, and none is early. Later
  /// the two clocks drift apart as far as their crystals differ.
  Result<bool> based();
  [[nodiscard]] bool on() const { return on_; }

  void label(Stream stream, std::uint64_t label);
  [[nodiscard]] bool labelled(Stream stream) const { return on_ && lane(stream).label != 0; }
  /// True if the pool has the events for the next command.
  [[nodiscard]] bool has_room() const { return pool_.size() >= 3; }
  /// If the pool is too empty: the command (stream and number) that must complete first, so that events come back.
  [[nodiscard]] std::optional<Event> in_the_way() const;
  /// Called around each labelled command: before it; after its own wait for the host; and after the command, which has number `sequence`.
  Status before(Stream stream, CUstream into);
  Status behind_wait(Stream stream, CUstream into);
  Status behind(Stream stream, CUstream into, std::uint64_t sequence);

  /// Reads the times of completed commands: those of `stream` up to number `completed`. `last`: also those under the current label.
  Status read(Stream stream, std::uint64_t completed, bool last);
  /// Appends the spans that have been read and not yet taken.
  void take(Stream stream, std::vector<Measured>& to) {
    std::vector<Measured>& read = lane(stream).read;
    to.insert(to.end(), read.begin(), read.end());
    read.clear();
  }

 private:
  struct Span {
    std::uint64_t label = 0, sequence = 0;  ///< `sequence` is the number of its last command
    EventHandle begin, work, end;           ///< `work`: after the first command's own wait for the host, if it had one
  };
  struct Lane {
    std::uint64_t label = 0;
    Span open;                                                 ///< the span under the current label
    std::deque<Span> ended;                                    ///< in order
    std::deque<std::pair<std::uint64_t, EventHandle>> passed;  ///< end events that were replaced because the span went on
    EventHandle base;                                          ///< a later base for this stream; none: `base_`
    double base_seconds = 0;                                   ///< seconds from `base_` to `base`
    Clock::time_point last;                                    ///< lower limit for the begin of later spans
    std::vector<Measured> read;
  };
  Lane& lane(Stream stream) { return lanes_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] const Lane& lane(Stream stream) const { return lanes_[static_cast<std::size_t>(stream)]; }
  Status record(EventHandle& event, CUstream into);
  void close(Lane& lane);
  void give_back(EventHandle& event);
  void give_back(Span& span);
  Result<Measured> resolve(Lane& lane, Span& span, Clock::time_point now);
  Result<double> seconds_since(const Lane& lane, const EventHandle& event) const;

  const Context& context_;
  const std::function<Clock::time_point()> now_;  ///< the host's clock
  bool on_ = false;
  EventHandle base_;
  Clock::time_point base_time_;
  std::vector<EventHandle> pool_;
  std::array<Lane, kStreamCount> lanes_;
};

}  // namespace cleave::runtime::cuda
