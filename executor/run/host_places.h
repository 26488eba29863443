// HostPlaces: where the host finds each storage of its plan: in its arena, in an array that is the caller's or the program's, or in the
// slot of a ring that the value in it is computed in, to be sent, or has come in. What lies in a slot need not be copied.
#pragma once

#include <vector>

#include "executor/run/prepared.h"

namespace cleave::runtime {

class HostPlaces {
 public:
  explicit HostPlaces(Prepared& prepared);
  /// The arena. An Error where memory is short.
  Status allocate();
  /// Before each run: all are where the plan puts them, external ones nowhere yet.
  void begin();

  [[nodiscard]] std::byte* at(StorageIndex storage) const { return now_[index(storage)]; }
  [[nodiscard]] std::byte* of(ValueId value) const { return at(plan_.storage_of[value]); }
  /// Where it lies when it lies in no slot.
  [[nodiscard]] std::byte* home(StorageIndex storage) const { return home_[index(storage)]; }
  void set_external(StorageIndex storage, std::byte* array) { now_[index(storage)] = array; }

  /// Whether the value may be somewhere else whenever it is computed or comes.
  [[nodiscard]] bool moves(ValueId value) const { return moves_[index(plan_.storage_of[value])] != 0; }
  /// Before `value` is computed: to the slot that it will be sent from, if that is free by now, else to the arena.
  void compute(ValueId value, RunState& run);
  /// Before the next value of `channel` is taken: its slot is given back.
  void give_back(ChannelId channel, RunState& run);
  /// `slot` holds the next value of `channel`, which stays there until the one after it is taken. False: it is to be copied out.
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
  IdVector<ValueId, ChannelId> sent_;       ///< values that are computed where they are sent from
  IdVector<ChannelId, std::uint8_t> held_;  ///< whether the host has not given back the last slot
};

}  // namespace cleave::runtime
