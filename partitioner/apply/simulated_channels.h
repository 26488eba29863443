// SimulatedChannels: the transfers of a simulated run (predict.h). The host waits at the receive of an accelerator's value. The
// accelerator's driver waits at a receive until the value is sent, and then enqueues the copy; the accelerator itself waits at the first
// read of the value until the copy has finished. A copy to the host begins when the value is computed. Another accelerator's value is sent
// when it is computed, and copied by the receiver's engine.
//
// The reuse of memory is not modelled. The executor double-buffers values that are transferred in loops, so that it does not wait for
// memory either. (If bursts are simulated, a value has these two buffers on the accelerator, and the copy of a value waits until the last
// value but one has been read.) Operations that overlap with the transfer of large values (copy_overlap.h) are simulated as one piece of
// work, as early as the first and the last part allow.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/rooms.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/schedule_waits.h"
#include "partitioner/apply/simulated_clocks.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

class SimulatedChannels {
 public:
  /// `times.copies` are the times of the transfers. With `bursts`, records how full the channels get.
  SimulatedChannels(const Program& program, const CostedProblem& costed, const StepTimes& times, SimulatedClocks& clocks, bool bursts);
  /// Must be called before the run: an operation of the receiver processes the values of `channel` in parts while they arrive.
  void work_on(ChannelId channel) { worked_on_[channel] = 1; }

  /// Simulates the send of a value, or of a whole coalesced transfer at its first send.
  void send(const Step& step, std::size_t device);
  void receive(const Step& step, std::size_t device);
  /// Simulates an accelerator's read of `value`.
  void read(ValueId value, std::size_t device);
  /// Reads all values that an accelerator received in a region, at the region's end, where they may be yielded. Values received in the
  /// root stay valid.
  void read_rest(RegionId region, std::size_t device);
  /// Waits, before work of `seconds` on a value that arrives in parts, until the first part has arrived and the work can go on without a
  /// pause until the last part has.
  void wait_for_parts(ChannelId channel, std::size_t device, double seconds, NodeId node);
  /// The host is done with a value that arrived in parts.
  void give_back(ChannelId channel) { rooms_.give_back(channel, clocks_.now(0)); }
  /// Work of `seconds` on `node`, which began at `begin` and is done now, made the channel's value, whose first part leaves before the last
  /// is computed if there was a slot.
  void made_in_parts(ChannelId channel, std::size_t device, const Moment& begin, double seconds, NodeId node);
  /// An accelerator has computed `value`.
  void made(ValueId value, std::size_t device) { on(device).made[value] = clocks_.now_on(device); }
  /// Simulates an operation that only renames its operand on an accelerator: its result shares the operand's bytes and arrival.
  void rename(const Node& node, std::size_t device);

  [[nodiscard]] LastWaits& waits() { return waits_; }
  /// With bursts: by channel, how long senders waited for a free slot, and the most values in flight.
  [[nodiscard]] const IdVector<ChannelId, double>& full_seconds() const { return full_seconds_; }
  [[nodiscard]] const IdVector<ChannelId, int>& depth_in_use() const { return rooms_.in_use(); }

 private:
  /// The values on one accelerator.
  struct OnAccelerator {
    explicit OnAccelerator(std::size_t values) : made(values), coming(values), same(values) {}
    [[nodiscard]] ValueId whose(ValueId value) const { return same[value] ? same[value] : value; }

    IdVector<ValueId, Moment> made;       ///< when the accelerator last computed the value
    IdVector<ValueId, ChannelId> coming;  ///< the channel through which the accelerator received a value that it has not read yet
    IdVector<ValueId, ValueId> same;      ///< for a renamed value: the value whose bytes it shares
    std::vector<ChannelId> unread;        ///< channels received in the current regions, whether or not their values were read since
  };
  [[nodiscard]] OnAccelerator& on(std::size_t device) { return accelerators_[device - 1]; }
  /// The engine that brings the channel's values.
  [[nodiscard]] std::size_t engine_of(ChannelId channel) const {
    const Channel& each = program_.channels[channel];
    return each.to == kHost ? engine_to_host(each.from.index) : engine_to_accelerator(each.to.index);
  }
  /// The fraction of a transfer or of work in `parts` that comes after the first part.
  static double behind_first(std::int64_t parts) { return 1 - 1 / static_cast<double>(parts); }
  [[nodiscard]] std::int64_t parts(ChannelId channel) const;
  void copy(const ChannelId& first, const Moment& start);
  void note_reader(ChannelId channel, std::size_t device, const Moment& there);

  const Program& program_;
  const Graph& graph_;
  const CostedProblem& costed_;
  const StepTimes& times_;
  SimulatedClocks& clocks_;
  const bool bursts_;
  IdVector<ChannelId, std::uint8_t> worked_on_;
  std::vector<Moment> sent_, first_sent_, staged_, arrival_;  ///< by channel, for the value sent last
  std::vector<OnAccelerator> accelerators_;
  Rooms rooms_;
  LastWaits waits_;
  IdVector<ChannelId, double> full_seconds_;
  std::vector<Moment> came_;  ///< with bursts: when the accelerator came to the last receive of a channel
};

}  // namespace cleave::planner
