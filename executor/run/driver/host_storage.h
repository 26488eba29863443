// HostStorage: the current address of each storage of the host's plan: in the arena, in an array of the caller or the program, or in a slot
// of a ring, in which an outgoing value is computed or an incoming one has arrived. A value in a slot need not be copied.
#pragma once

#include <vector>

#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class HostStorage {
 public:
  explicit HostStorage(Prepared& prepared);
  /// Allocates the arena. An Error if memory is short.
  Status allocate();
  /// Must be called before each run: resets all addresses to those of the plan; external storages have none yet.
  void begin();

  [[nodiscard]] std::byte* at(StorageIndex storage) const { return now_[index(storage)]; }
  [[nodiscard]] std::byte* of(ValueId value) const { return at(plan_.storage_of[value]); }
  /// The storage's address outside of slots.
  [[nodiscard]] std::byte* home(StorageIndex storage) const { return home_[index(storage)]; }
  void set_external(StorageIndex storage, std::byte* array) { now_[index(storage)] = array; }

  /// Whether the value's address may change whenever it is computed or received.
  [[nodiscard]] bool moves(ValueId value) const { return moves_[index(plan_.storage_of[value])] != 0; }
  /// Must be called before `value` is computed: assigns it the slot from which it will be sent, if that slot is free already, else the
  /// arena.
  void compute(ValueId value, RunState& run);
  /// Must be called before the next value of `channel` is received: releases the slot of the previous one.
  void give_back(ChannelId channel, RunState& run);
  /// Assigns the next value of `channel` the address in `slot`, where it stays until the following value is received. False: the value must
  /// be copied out of the slot.
  bool keep(ChannelId channel, const Ring::Slot& slot);

 private:
  static std::size_t index(StorageIndex storage) { return static_cast<std::size_t>(storage); }
  void find_sent();

  Prepared& prepared_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  Array arena_;
  std::vector<std::byte*> home_, now_;  ///< by storage
  std::vector<std::uint8_t> moves_;
  IdVector<ValueId, ChannelId> sent_;       ///< the channel of values that are computed in the slot from which they are sent
  IdVector<ChannelId, std::uint8_t> held_;  ///< whether the host has not released the last slot
};

}  // namespace cleave::runtime
