// HostStorage: the current address of each storage of the host's plan: in the arena, in an array of the caller or the program, or in a slot
// of a ring, in which an outgoing value is computed or an incoming one has arrived. A value in a slot need not be copied.
#pragma once

#include <vector>

#include "executor/memory/memory_plan.h"
#include "graph/array/array.h"

namespace cleave::runtime {

class HostStorage {
 public:
  explicit HostStorage(const MemoryPlan& plan) : plan_(plan) {}
  /// Allocates the arena; false: memory is short.
  bool allocate();
  /// Must be called before each run: resets all addresses to those of the plan; external storages have none yet.
  void begin() { now_ = home_; }

  [[nodiscard]] std::byte* at(StorageIndex storage) const { return now_[index(storage)]; }
  [[nodiscard]] std::byte* of(ValueId value) const { return at(plan_.storage_of[value]); }
  /// The storage's address outside of slots.
  [[nodiscard]] std::byte* home(StorageIndex storage) const { return home_[index(storage)]; }
  void set(StorageIndex storage, std::byte* address) { now_[index(storage)] = address; }
  /// Sets the value's address to `slot`; null: to the address outside of slots.
  void move(ValueId value, std::byte* slot) {
    const StorageIndex storage = plan_.storage_of[value];
    set(storage, slot ? slot : home(storage));
  }

 private:
  static std::size_t index(StorageIndex storage) { return static_cast<std::size_t>(storage); }

  const MemoryPlan& plan_;
  Array arena_;
  std::vector<std::byte*> home_, now_;  ///< by storage
};

}  // namespace cleave::runtime
