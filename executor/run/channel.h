// Ring: the memory and the numbered generations of one channel. One producer, one consumer; the producer may be `capacity` generations
// ahead, then it waits. Slots are page-locked staging memory; events say when a device is done with one. What is large goes in parts, so
// that one is copied over the link while the next is staged, or the one before is fetched from the slot.
#pragma once

#include <deque>
#include <vector>

#include "executor/device/device.h"
#include "executor/device/run_state.h"

namespace cleave::runtime {

/// A device's event and the virtual time at which it completes.
struct Point {
  Event event;
  double time = 0;
};

class Ring {
 public:
  struct Slot {
    std::byte* data = nullptr;      ///< the ring's own memory
    const std::byte* at = nullptr;  ///< set by the producer: where the data lie, there or in the caller's memory
    Point ready;                    ///< set by the producer: the data are there
    Point free;                     ///< set by the consumer: the data have been read
    bool in_parts = false;          ///< set by the host: it publishes the slot first, and stages its value then
    std::size_t staged = 0;         ///< parts that are there by now; guarded by the RunState's lock
    std::vector<Event> arrived;     ///< set by a device: when each part but the last is there; none: it is one
    std::vector<double> times;      ///< set by the producer, virtual: when each part but the last is there; none: all with the last

    /// Virtual: when a part is there. Of one that the host stages, once it has staged them all.
    [[nodiscard]] double time_of(std::size_t part) const { return part < times.size() ? times[part] : ready.time; }
  };

  Ring() = default;  ///< of a channel whose values go another way
  /// `slots` is the capacity: one buffer a generation in flight.
  explicit Ring(const std::vector<std::byte*>& slots);

  /// The slot of the generation to send next, once the consumer has given it back (its `free` event may still be to come); null: stopped.
  Slot* next(RunState& run, DeviceId who, const Origin& origin);
  /// The same without waiting; null: it is not given back yet.
  [[nodiscard]] Slot* spare(RunState& run);
  void publish(RunState& run);
  /// The slot of the generation to take next, once it is published (its `ready` event may still be to come); null: stopped.
  Slot* front(RunState& run, DeviceId who, const Origin& origin);
  void release(RunState& run);
  /// The producer: one more part is in a slot that it has published with none.
  static void stage(RunState& run, Slot& slot);
  /// The consumer: whether part `part` of the slot is there, once it is; false: stopped.
  static bool wait_for_part(RunState& run, DeviceId who, const Origin& origin, const Slot& slot, std::size_t part);
  /// The slot of the first generation of a run, once it is published, for somebody beside the consumer. Only where no generation takes that
  /// slot again before the run ends. Null: stopped.
  const Slot* first(RunState& run, const Origin& origin);
  /// Back to generation zero, between runs.
  void reset();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::vector<Slot> slots_;
  std::uint64_t sent_ = 0, taken_ = 0;  ///< generations; guarded by the RunState's lock
};

/// What the host decided, streamed to one device that it drives: predicates as 0 or 1, trip counts.
class ControlStream {
 public:
  struct Decision {
    std::int64_t value = 0;
    double time = 0;  ///< virtual
  };
  bool put(RunState& run, DeviceId who, const Origin& origin, Decision decision);  ///< false: stopped
  std::optional<Decision> take(RunState& run, DeviceId who, const Origin& origin);
  void reset() { decisions_.clear(); }

 private:
  static constexpr std::size_t kCapacity = 4096;  ///< how far the host may decide ahead of a device
  std::deque<Decision> decisions_;
};

}  // namespace cleave::runtime
