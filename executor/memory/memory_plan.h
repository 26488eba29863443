// MemoryPlan: the offset of each value in its device's single arena, decided before a run (plan_memory.h). Values with disjoint live ranges
// share storage. A carried value, its initial value, the yielded value and the loop's result share it wherever that is safe; otherwise the
// moves listed here copy them. Independent of devices and memory: offsets only.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

using StorageIndex = std::int32_t;
inline constexpr StorageIndex kNoStorage = -1;

/// A copy from one storage to another of the same size.
struct Move {
  StorageIndex to = kNoStorage;
  StorageIndex from = kNoStorage;
};

/// Rotating buffers: storages that exchange roles after each iteration of a loop, in place of copies that would move their contents or
/// waits for transfers. In turn t, `cycle[i]` of the loop's steps is the storage `cycle[(i + t) % size]`.
struct DoubleBuffers {
  std::int32_t turns = 1;  ///< the iterations after which all storages have their first roles again
  std::vector<std::vector<StorageIndex>> cycles;
  std::vector<std::vector<Move>> home;  ///< by turn: moves the loop's results to their planned storage

  [[nodiscard]] StorageIndex at(StorageIndex s, std::int32_t turn) const;
};

/// The additions of the plan to one step.
struct StepPlan {
  std::vector<Move> entry;  ///< loops: copies of initial values, before the first iteration
  std::vector<Move> trip;   ///< loops: copies of yielded values, after each iteration; ordered so that they act as parallel assignments
  std::int32_t double_buffers = -1;  ///< loops: index of its double buffers, whose values have no copies in `trip`
  std::vector<Move> merge[2];        ///< branches: copies at the end of each arm
  std::vector<StorageIndex> dies;    ///< storages whose contents are not read after this step
  bool nothing = false;              ///< an operation whose result is an alias of its operand: no kernel runs
};

struct MemoryPlan {
  struct Storage {
    Range range;                  ///< in the arena
    bool external = false;        ///< outside the arena: arrays that the run is given or returns
    bool leaves = false;          ///< holds an output at the end of a run
    std::vector<ValueId> values;  ///< the values that share it; none: used by moves only
  };
  std::vector<Storage> storages;
  IdVector<ValueId, StorageIndex> storage_of;  ///< kNoStorage: no copy on this device
  std::vector<std::vector<StepPlan>> blocks;   ///< indexed like the blocks and steps of the device's program
  std::vector<DoubleBuffers> double_buffered_loops;
  std::vector<std::int32_t> double_buffers_by_block;  ///< by block: the double buffers whose turn applies to it; -1: none
  std::int64_t arena_bytes = 0;                       ///< the peak
  NodeId fullest;                                     ///< the operation at which it is reached, if any
  std::vector<StorageIndex> at_peak;                  ///< the storages in use when the arena is fullest, largest first

  /// The double buffers whose turn applies to `block`; null: none.
  [[nodiscard]] const DoubleBuffers* double_buffers(std::size_t block) const {
    return double_buffers_by_block.empty() || double_buffers_by_block[block] < 0
               ? nullptr
               : &double_buffered_loops[static_cast<std::size_t>(double_buffers_by_block[block])];
  }
  [[nodiscard]] const Range& range(StorageIndex s) const { return storages[static_cast<std::size_t>(s)].range; }
  [[nodiscard]] const Range& range(ValueId value) const { return range(storage_of[value]); }
};

}  // namespace cleave::runtime
