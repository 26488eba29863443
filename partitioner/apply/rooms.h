// Rooms: which places of a program's channels are free in a simulated run (schedule.cpp), and when. A channel has as many as it is deep.
#pragma once

#include <algorithm>
#include <vector>

#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {

class Rooms {
 public:
  /// `holds`: the host keeps a value that travels alone in its place until it takes the next one, as the executor does where it can.
  Rooms(const Program& program, bool holds) {
    for (const Channel& channel : program.channels) {
      const auto depth = static_cast<std::size_t>(std::max(1, channel.depth));
      channels_.push_back({free_.size(), depth, 0, 0, holds && channel.to == kHost && !channel.packet && depth > 1, false});
      free_.resize(free_.size() + depth);
    }
    in_use_ = IdVector<ChannelId, int>(program.channels.size(), kDefaultDepth);
  }

  /// When there is room for the next value.
  [[nodiscard]] const Moment& next(ChannelId id) const {
    const Room& room = channels_[id];
    return free_[room.first + room.taken % room.depth];
  }
  void take(ChannelId id) { ++channels_[id].taken; }
  /// The value that was taken first, of those that are under way, is there: its place is free from `time` on, or with the next one's.
  void give_back(ChannelId id, const Moment& time) {
    Room& room = channels_[id];
    if (room.holds)
      room.held = true;
    else
      release(room, time);
  }
  /// The host comes for the next value.
  void give_back_held(ChannelId id, const Moment& time) {
    Room& room = channels_[id];
    if (room.held) release(room, time);
    room.held = false;
  }

  /// Counts the values under way, with one more that is sent at `now`.
  void note_use(ChannelId id, double now) {
    const Room& room = channels_[id];
    std::size_t under_way = room.taken - room.given_back;
    for (std::size_t back = 1; back <= room.given_back && under_way < room.depth; ++back, ++under_way)
      if (free_[room.first + (room.given_back - back) % room.depth].seconds <= now) break;
    in_use_[id] = std::max(in_use_[id], static_cast<int>(under_way) + 1);
  }
  /// The most values under way at once, by channel; one more than its depth where there was no room.
  [[nodiscard]] const IdVector<ChannelId, int>& in_use() const { return in_use_; }

 private:
  struct Room {
    std::size_t first, depth;  ///< where its places stand
    std::size_t taken, given_back;
    bool holds, held;
  };
  void release(Room& room, const Moment& time) { free_[room.first + room.given_back++ % room.depth] = time; }

  IdVector<ChannelId, Room> channels_;
  std::vector<Moment> free_;  ///< from when on, by place
  IdVector<ChannelId, int> in_use_;
};

}  // namespace cleave::planner
