// Rotation: the turn that the rotating buffers of the innermost such loop are in. A storage of that loop is another one in each turn.
#pragma once

#include <cstdint>

#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

/// The storage `s` in one turn; null double buffers: it is the same in all.
inline StorageIndex storage_in_turn(const DoubleBuffers* double_buffers, StorageIndex s, std::int32_t turn) {
  return double_buffers ? double_buffers->at(s, turn) : s;
}
inline std::int32_t turns_of(const DoubleBuffers* double_buffers) {
  return double_buffers ? double_buffers->turns : 1;
}

struct Rotation {
  const DoubleBuffers* double_buffers = nullptr;  ///< null: all storages are where the plan has them
  std::int32_t turn = 0;

  [[nodiscard]] StorageIndex at(StorageIndex s) const { return storage_in_turn(double_buffers, s, turn); }
};

}  // namespace cleave::runtime
