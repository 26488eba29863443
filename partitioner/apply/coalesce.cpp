#include "partitioner/apply/coalesce.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cleave::planner {
namespace {

std::int64_t bytes_of(const Program& program, ChannelId channel) {
  return program.graph->values[program.channels[channel].value].type.bytes();
}

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kCoalescedAlignment - 1) / kCoalescedAlignment * kCoalescedAlignment;
}

/// Groups adjacent sends into coalesced transfers, then moves the steps and renumbers the global order.
class Packer {
 public:
  Packer(Program& program, const std::function<bool(ChannelId)>& may_travel)
      : program_(program), may_travel_(may_travel), received_(program.channels.size(), kNever), moved_(program.channels.size()) {}

  void run() {
    for (const DeviceProgram& device : program_.devices)
      for (const Block& block : device.blocks) find_coalesced(block);
    if (program_.coalesced_transfers.empty()) return;
    find_receives();
    find_places();
    put_in_order();
    number_anew();
  }

 private:
  static constexpr std::int64_t kNever = -1;
  /// The position of a step in the global order: an order number, and the place among steps with the same number.
  using OrderKey = std::pair<std::int64_t, std::size_t>;
  struct NewOrder {
    OrderKey send, receive;
  };

  /// Collects runs of adjacent sends into coalesced transfers, with one open transfer for each destination.
  void find_coalesced(const Block& block) {
    std::vector<CoalescedTransfer> open(program_.devices.size());
    const auto close = [&](CoalescedTransfer& coalesced) {
      if (coalesced.channels.size() > 1) add(coalesced);
      coalesced = {};
    };
    for (const Step& step : block.steps) {
      if (step.kind != StepKind::send) {
        for (CoalescedTransfer& coalesced : open) close(coalesced);
        continue;
      }
      const std::int64_t bytes = bytes_of(program_, step.channel);
      if (bytes > kMostCoalescedBytes || !may_travel_(step.channel)) continue;
      CoalescedTransfer& coalesced = open[program_.channels[step.channel].to.index];
      if (coalesced.bytes + bytes > kMostCoalescedBytes || coalesced.channels.size() == kMostCoalescedValues) close(coalesced);
      coalesced.channels.push_back(step.channel);
      coalesced.bytes += padded(bytes);
    }
    for (CoalescedTransfer& coalesced : open) close(coalesced);
  }

  void add(const CoalescedTransfer& coalesced) {
    const CoalescedId id = program_.coalesced_transfers.push_back(coalesced);
    std::int64_t offset = 0;
    for (const ChannelId channel : coalesced.channels) {
      program_.channels[channel].coalesced = id;
      program_.channels[channel].offset = offset;
      offset += padded(bytes_of(program_, channel));
    }
  }

  template <class F>
  void each_step(F&& f) {
    for (DeviceProgram& device : program_.devices)
      for (Block& block : device.blocks)
        for (Step& step : block.steps) f(step);
  }

  void find_receives() {
    sent_ = received_;
    each_step([&](const Step& step) {
      if (step.kind == StepKind::send) sent_[step.channel] = step.order;
      if (step.kind == StepKind::receive) received_[step.channel] = step.order;
    });
  }

  /// All values of a coalesced transfer are sent where its first value was, and received where the earliest of them was, which is later
  /// still.
  void find_places() {
    for (const CoalescedTransfer& coalesced : program_.coalesced_transfers) {
      std::int64_t first = received_[coalesced.channels[0]];
      for (const ChannelId channel : coalesced.channels) first = std::min(first, received_[channel]);
      for (std::size_t i = 0; i < coalesced.channels.size(); ++i)
        moved_[coalesced.channels[i]] = {{sent_[coalesced.channels[0]], i}, {first, i}};
    }
  }

  [[nodiscard]] OrderKey place(const Step& step) const {
    const bool moves = (step.kind == StepKind::send || step.kind == StepKind::receive) && program_.channels[step.channel].coalesced;
    if (!moves) return {step.order, 0};
    const NewOrder& places = moved_[step.channel];
    return step.kind == StepKind::send ? places.send : places.receive;
  }

  void put_in_order() {
    for (DeviceProgram& device : program_.devices)
      for (Block& block : device.blocks)
        std::stable_sort(block.steps.begin(), block.steps.end(), [this](const Step& a, const Step& b) { return place(a) < place(b); });
  }

  void number_anew() {
    std::vector<OrderKey> places;
    each_step([&](const Step& step) { places.push_back(place(step)); });
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    each_step([&](Step& step) { step.order = std::lower_bound(places.begin(), places.end(), place(step)) - places.begin(); });
  }

  Program& program_;
  const std::function<bool(ChannelId)>& may_travel_;
  IdVector<ChannelId, std::int64_t> sent_, received_;
  IdVector<ChannelId, NewOrder> moved_;
};

const LinkDirection& link_of(const CostedProblem& costed, const Channel& channel) {
  return costed.link(channel.from, channel.to);
}

double seconds_alone(const Program& program, const CostedProblem& costed, ChannelId id) {
  const Channel& channel = program.channels[id];
  return costed.transfer_seconds(channel.value, bytes_of(program, id), channel.from, channel.to);
}

}  // namespace

void coalesce_transfers(Program& program, const std::function<bool(ChannelId)>& may_travel) {
  Packer(program, may_travel).run();
}

IdVector<ChannelId, double> channel_seconds(const Program& program, const CostedProblem& costed) {
  IdVector<ChannelId, double> seconds;
  seconds.reserve(program.channels.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) seconds.push_back(seconds_alone(program, costed, ChannelId(c)));
  for (const CoalescedTransfer& coalesced : program.coalesced_transfers) {
    double bytes = 0, before = 0;
    for (const ChannelId channel : coalesced.channels) {
      bytes += static_cast<double>(bytes_of(program, channel));
      const double until = std::max(before, link_of(costed, program.channels[channel]).seconds(bytes));
      seconds[channel] = until - std::exchange(before, until);
    }
  }
  return seconds;
}

double saved_seconds(const Program& program, const CostedProblem& costed, CoalescedId coalesced) {
  double alone = 0, bytes = 0;
  const std::vector<ChannelId>& channels = program.coalesced_transfers[coalesced].channels;
  for (const ChannelId id : channels) {
    alone += seconds_alone(program, costed, id);
    bytes += static_cast<double>(bytes_of(program, id));
  }
  return std::max(0.0, alone - link_of(costed, program.channels[channels[0]]).seconds(bytes));
}

}  // namespace cleave::planner
