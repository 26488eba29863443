// Ring: the buffers and the numbered generations of one channel. It has one producer and one consumer; the producer may be `capacity`
// generations ahead, then it waits. Slots are page-locked staging memory; events say when a device is done with a slot. Large values are
// transferred in chunks, so that one chunk is copied over the link while the next is staged, or the previous one is fetched from the slot.
#pragma once

#include <vector>

#include "executor/device/run_state.h"
#include "executor/device/streams.h"
#include "executor/run/clock/point.h"

namespace cleave::runtime {

class Ring {
 public:
  struct Slot {
    std::byte* data = nullptr;      ///< the ring's own memory
    const std::byte* at = nullptr;  ///< set by the producer: the address of the data, in the slot or in the caller's memory
    Point ready;                    ///< set by the producer: completes when the data have arrived
    Point free;                     ///< set by the consumer: completes when the data have been read
    bool in_parts = false;          ///< set by the host: it publishes the slot before it stages the value
    std::size_t staged = 0;         ///< number of chunks staged so far; guarded by the RunState's lock
    std::vector<Event> arrived;     ///< set by a device: the arrival of each chunk but the last; empty: there is one chunk
    std::vector<double> times;  ///< set by the producer, virtual: the arrival of each chunk but the last; empty: all arrive with the last

    /// The virtual time at which a chunk arrives. For a value that the host stages, valid once the host has staged all chunks.
    [[nodiscard]] double time_of(std::size_t part) const { return part < times.size() ? times[part] : ready.time; }
  };

  /// The number of `slots` is the capacity: one buffer for each generation in flight.
  explicit Ring(const std::vector<std::byte*>& slots);

  /// The slot of the generation to send next; waits until the consumer has released it (its `free` event may still be pending). Null: the
  /// run has stopped.
  Slot* next(RunState& run, DeviceId who, const Origin& origin);
  /// Like `next` without waiting; null: the slot is not released yet, or the device, whose streams these are, may still read it.
  [[nodiscard]] Slot* spare(RunState& run, Streams& device);
  void publish(RunState& run);
  /// The slot of the generation to receive next; waits until it is published (its `ready` event may still be pending). Null: the run has
  /// stopped.
  Slot* front(RunState& run, DeviceId who, const Origin& origin);
  void release(RunState& run);
  /// Called by the producer: one more chunk is staged in a slot that was published without any.
  static void stage(RunState& run, Slot& slot);
  /// Called by the consumer: waits until chunk `part` of the slot is staged; false: the run has stopped.
  static bool wait_for_part(RunState& run, DeviceId who, const Origin& origin, const Slot& slot, std::size_t part);
  /// The slot of the first generation of a run, for a reader other than the consumer; waits until it is published. Allowed only if no later
  /// generation reuses that slot in the run. Null: the run has stopped.
  const Slot* first(RunState& run, const Origin& origin);
  /// Returns to generation zero, between runs.
  void reset();
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::vector<Slot> slots_;
  std::uint64_t sent_ = 0, taken_ = 0;  ///< numbers of generations; guarded by the RunState's lock
};

}  // namespace cleave::runtime
