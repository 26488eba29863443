// Rooms: the slots of a program's channels in a simulated run (predict.cpp), and the time at which each becomes free. A channel has as
// many slots as its depth.
#pragma once

#include <algorithm>
#include <vector>

#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {

class Rooms {
 public:
  /// If `holds`, the host keeps a value that is in no coalesced transfer in its slot until it receives the next one, as the executor does
  /// where it can.
  Rooms(const Program& program, bool holds) {
    for (const Channel& channel : program.channels) {
      const auto depth = static_cast<std::size_t>(std::max(1, channel.depth));
      channels_.push_back({free_.size(), depth, 0, 0, holds && channel.to == kHost && !channel.coalesced && depth > 1, false});
      free_.resize(free_.size() + depth);
    }
    in_use_ = IdVector<ChannelId, int>(program.channels.size(), kDefaultDepth);
  }

  /// The time at which a slot for the next value is free.
  [[nodiscard]] const Moment& next(ChannelId id) const {
    const Room& room = channels_[id];
    return free_[room.first + room.taken % room.depth];
  }
  void take(ChannelId id) { ++channels_[id].taken; }
  /// Called when the oldest value in flight has arrived: its slot is free from `time` on, or, if the host holds it, when the host receives
  /// the next value.
  void give_back(ChannelId id, const Moment& time) {
    Room& room = channels_[id];
    if (room.holds)
      room.held = true;
    else
      release(room, time);
  }
  /// Called when the host is about to receive the next value.
  void give_back_held(ChannelId id, const Moment& time) {
    Room& room = channels_[id];
    if (room.held) release(room, time);
    room.held = false;
  }

  /// Counts the values in flight, including one that is sent at `now`.
  void note_use(ChannelId id, double now) {
    const Room& room = channels_[id];
    std::size_t under_way = room.taken - room.given_back;
    for (std::size_t back = 1; back <= room.given_back && under_way < room.depth; ++back, ++under_way)
      if (free_[room.first + (room.given_back - back) % room.depth].seconds <= now) break;
    in_use_[id] = std::max(in_use_[id], static_cast<int>(under_way) + 1);
  }
  /// By channel, the largest number of values in flight at once. It is one more than the depth if a sender found no free slot.
  [[nodiscard]] const IdVector<ChannelId, int>& in_use() const { return in_use_; }

 private:
  struct Room {
    std::size_t first, depth;  ///< index of the first slot, and their number
    std::size_t taken, given_back;
    bool holds, held;
  };
  void release(Room& room, const Moment& time) { free_[room.first + room.given_back++ % room.depth] = time; }

  IdVector<ChannelId, Room> channels_;
  std::vector<Moment> free_;  ///< by slot, the time from which it is free
  IdVector<ChannelId, int> in_use_;
};

}  // namespace cleave::planner
