#include "partitioner/apply/simulated_channels.h"

#include <algorithm>
#include <utility>

#include "partitioner/apply/copy_overlap.h"

namespace cleave::planner {

SimulatedChannels::SimulatedChannels(const Program& program, const CostedProblem& costed, const StepTimes& times, SimulatedClocks& clocks,
                                     bool bursts)
    : program_(program),
      graph_(*program.graph),
      costed_(costed),
      times_(times),
      clocks_(clocks),
      bursts_(bursts),
      worked_on_(program.channels.size(), 0),
      sent_(program.channels.size()),
      first_sent_(program.channels.size()),
      staged_(program.channels.size()),
      arrival_(program.channels.size()),
      accelerators_(program.devices.size() - 1, OnAccelerator(graph_.values.size())),
      rooms_(program, bursts),
      waits_(program),
      full_seconds_(bursts ? program.channels.size() : 0, 0),
      came_(bursts ? program.channels.size() : 0) {}

std::int64_t SimulatedChannels::parts(ChannelId channel) const {
  return (graph_.values[program_.channels[channel].value].type.bytes() + kPartBytes - 1) / kPartBytes;
}

void SimulatedChannels::send(const Step& step, std::size_t device) {
  if (follows(program_, step.channel)) return;
  const std::size_t c = step.channel.index;
  double full = 0;  // the accelerator's wait for a free slot
  const Moment room = rooms_.next(step.channel);
  if (bursts_) {
    const double now = clocks_.now_on(device).seconds;
    rooms_.note_use(step.channel, now);
    full_seconds_[step.channel] += std::max(0.0, room.seconds - now);
  }
  clocks_.wait(device, room, full);
  rooms_.take(step.channel);
  sent_[c] = clocks_.now_on(device);
  // The accelerator fetches a value of the host; if that is sent in parts, it may fetch some before the last is computed.
  if (device == 0) {
    staged_[c] = sent_[c];
    if (first_sent_[c].seconds > 0)
      sent_[c] = later(first_sent_[c], clocks_.after(sent_[c], -times_.copies[step.channel] * behind_first(parts(step.channel)),
                                                     engine_of(step.channel), NodeId(), step.channel));
    return;
  }
  waits_.channel[step.channel] = full;
  const std::size_t driver = driver_of(device);
  clocks_.catch_up(driver, room);
  Moment start = clocks_.now(driver);
  for (const ChannelId channel : travelling_with(program_, step.channel)) {
    const ValueId value = program_.channels[channel].value;
    const bool computed = graph_.producer(value).kind == NodeKind::operation;
    start = later(start, computed ? on(device).made[value] : clocks_.now_on(device));
  }
  if (between_accelerators(program_.channels[step.channel])) {
    sent_[c] = start;
  } else {
    copy(step.channel, start);
  }
}

/// Simulates a copy of a value, or of a whole coalesced transfer, not before `start`.
void SimulatedChannels::copy(const ChannelId& first, const Moment& start) {
  const std::size_t engine = engine_of(first);
  clocks_.catch_up(engine, start);
  const std::span<const ChannelId> all = travelling_with(program_, first);
  for (const ChannelId channel : all) {
    const Channel& each = program_.channels[channel];
    clocks_.copy(engine, times_.copies[channel], channel, graph_.values[each.value].producer, each.transfer);
  }
  for (const ChannelId channel : all) arrival_[channel.index] = clocks_.now(engine);
}

void SimulatedChannels::receive(const Step& step, std::size_t device) {
  const std::size_t c = step.channel.index;
  waits_.channel[step.channel] = 0;
  const bool first = !follows(program_, step.channel);
  if (first && device == 0) rooms_.give_back_held(step.channel, clocks_.now(0));
  if (device == 0 && worked_on_[step.channel]) return;  // the next operation waits for the value in parts
  if (first) clocks_.wait(device, device == 0 ? arrival_[c] : sent_[c], waits_.channel[step.channel]);
  if (device == 0) {
    note_reader(step.channel, 0, arrival_[c]);
    if (first) rooms_.give_back(step.channel, clocks_.now(0));
    return;
  }
  if (first) {
    clocks_.catch_up(driver_of(device), sent_[c]);
    const Moment& driver = clocks_.now(driver_of(device));
    copy(step.channel, bursts_ ? later(driver, std::exchange(came_[c], clocks_.now_on(device))) : driver);
    rooms_.give_back(step.channel, arrival_[c]);
  }
  on(device).coming[step.value] = step.channel;
  on(device).unread.push_back(step.channel);
}

void SimulatedChannels::read(ValueId value, std::size_t device) {
  OnAccelerator& here = on(device);
  const ChannelId channel = here.coming[here.whose(value)];
  if (!channel || worked_on_[channel]) return;  // the operation itself waits
  here.coming[here.whose(value)] = {};
  note_reader(channel, device, arrival_[channel.index]);
  clocks_.wait(device, arrival_[channel.index], waits_.channel[channel]);
}

void SimulatedChannels::read_rest(RegionId region, std::size_t device) {
  std::vector<ChannelId>& unread = on(device).unread;
  for (; !unread.empty() && program_.channels[unread.back()].region == region; unread.pop_back())
    if (region != Graph::kRoot) read(program_.channels[unread.back()].value, device);
}

void SimulatedChannels::wait_for_parts(ChannelId channel, std::size_t device, double seconds, NodeId node) {
  const Moment there = arrival_[channel.index];
  const double behind = behind_first(device == 0 ? parts(channel) : launches_for(parts(channel), seconds, costed_.start_seconds));
  Moment from = later(clocks_.after(there, -times_.copies[channel] * behind, engine_of(channel), NodeId(), channel),
                      clocks_.after(there, -seconds * behind, clock_of(device), node));
  if (device != 0) from = later(from, staged_[channel.index]);  // the driver enqueues the operation after the copy
  note_reader(channel, device, from);
  clocks_.wait(device, from, waits_.channel[channel]);
  if (device != 0) on(device).coming[program_.channels[channel].value] = {};
}

void SimulatedChannels::made_in_parts(ChannelId channel, std::size_t device, const Moment& begin, double seconds, NodeId node) {
  const bool room = rooms_.next(channel).seconds <= begin.seconds;
  first_sent_[channel.index] =
      room ? clocks_.after(begin, seconds / static_cast<double>(parts(channel)), clock_of(device), node) : clocks_.now_on(device);
}

void SimulatedChannels::rename(const Node& node, std::size_t device) {
  OnAccelerator& here = on(device);
  const ValueId from = here.whose(node.inputs[0]), to = node.results[0];
  here.same[to] = from;
  here.made[to] = here.coming[from] ? later(here.made[from], arrival_[here.coming[from].index]) : here.made[from];
}

/// Records the time from the end of the reader's last work to `there`, when the value arrives.
void SimulatedChannels::note_reader(ChannelId channel, std::size_t device, const Moment& there) {
  waits_.reader[channel] = std::max(0.0, there.seconds - clocks_.state().idle[device]);
}

}  // namespace cleave::planner
