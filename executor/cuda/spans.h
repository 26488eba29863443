// Spans: when labelled commands really began and ended on the GPU, by events that take the time, from a pool. Only while a timeline is
// asked for: else not an event more. All by the thread that enqueues.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "executor/cuda/resources.h"
#include "executor/device/device.h"

namespace cleave::runtime::cuda {

class Spans {
 public:
  using Clock = RunState::Clock;
  static constexpr int kFewest = 16;  ///< events that are enough: what is begun holds some of each stream

  explicit Spans(const Context& context, std::function<Clock::time_point()> now = Clock::now) : context_(context), now_(std::move(now)) {}

  /// Before a run, of an idle device: nothing is measured.
  void reset();
  /// Makes what is missing of so many events.
  Status make(int events);
  /// Puts the base, from which all times count, into `stream`.
  Status begin(CUstream stream);
  /// Whether the base is done; then it happened now. It was a little before: by as long as it takes to ask again and to be told, some
  /// microseconds, and longer where another thread had the core meanwhile. So all is late by that much against what the host did, and
  /// nothing is early. After that the two clocks drift apart, as far as their crystals differ.
  Result<bool> based();
  [[nodiscard]] bool on() const { return on_; }

  void label(Stream stream, std::uint64_t label);
  [[nodiscard]] bool labelled(Stream stream) const { return on_ && lane(stream).label != 0; }
  /// Whether the next command of a stream can be measured. Else: what must be done, by stream and number, before that can change.
  [[nodiscard]] bool has_room() const { return pool_.size() >= 3; }
  [[nodiscard]] std::optional<Event> in_the_way() const;
  /// Around each command under a label: in front of it; behind what it waits for the host with; behind it, whose number is `sequence`.
  Status before(Stream stream, CUstream into);
  Status behind_wait(Stream stream, CUstream into);
  Status behind(Stream stream, CUstream into, std::uint64_t sequence);

  /// Reads what is done: all of `stream` up to `completed`. `last`: also under the last label.
  Status read(Stream stream, std::uint64_t completed, bool last);
  /// What has been read and not taken.
  void take(Stream stream, std::vector<Measured>& to) {
    std::vector<Measured>& read = lane(stream).read;
    to.insert(to.end(), read.begin(), read.end());
    read.clear();
  }

 private:
  struct Span {
    std::uint64_t label = 0, sequence = 0;  ///< of its last command
    EventHandle begin, work, end;           ///< work: where something was waited for
  };
  struct Lane {
    std::uint64_t label = 0;
    Span open;                                                 ///< under the label
    std::deque<Span> ended;                                    ///< in order
    std::deque<std::pair<std::uint64_t, EventHandle>> passed;  ///< behind which more came under the same label
    EventHandle base;                                          ///< none: the one of all
    double base_seconds = 0;                                   ///< from the base of all
    Clock::time_point last;                                    ///< nothing that follows began before it
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
