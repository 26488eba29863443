// MemoryPlan: where each value of one device lies in the device's one arena, decided before anything runs. Values whose lives do not meet
// share storage; a carried value, what it starts from, what is yielded to it and what it leaves behind share it wherever that is safe, and
// what cannot share is copied by the moves listed here. Knows no device and no memory: offsets only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/memory/fusion.h"
#include "executor/runtime.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

using StorageIndex = std::int32_t;
inline constexpr StorageIndex kNoStorage = -1;

/// A copy from one storage to another of the same size.
struct Move {
  StorageIndex to = kNoStorage;
  StorageIndex from = kNoStorage;
};

/// Storages that change places after each trip of a loop, where copies would move what lies there or have to wait for it: what the loop's
/// steps know as `cycle[i]` lies in turn t at `cycle[i + t]`, around.
struct Rotation {
  std::int32_t turns = 1;  ///< after so many trips all lies as at first
  std::vector<std::vector<StorageIndex>> cycles;
  std::vector<std::vector<Move>> home;  ///< by turn: brings what the loop leaves where the plan has it

  [[nodiscard]] StorageIndex at(StorageIndex s, std::int32_t turn) const;
};

/// What the plan adds to one step.
struct StepPlan {
  std::vector<Move> entry;         ///< loops: initial values, before the first trip
  std::vector<Move> trip;          ///< loops: yielded values, after each trip; in an order that keeps their parallel meaning
  std::int32_t rotation = -1;      ///< loops: an index into the plan's rotations; what these move is not in `trip`
  std::vector<Move> merge[2];      ///< branches: at the end of that arm
  std::vector<StorageIndex> dies;  ///< contents that nobody reads after this step
  bool nothing = false;            ///< an operation whose result has its operand's bytes and lies where they lie: there is nothing to run
};

struct MemoryPlan {
  struct Storage {
    Range range;                  ///< in the arena
    bool external = false;        ///< not in the arena: arrays that the run is given, or gives
    bool leaves = false;          ///< at the end of a run an output lies here
    std::vector<ValueId> values;  ///< that lie here; none: needed by moves only
  };
  std::vector<Storage> storages;
  IdVector<ValueId, StorageIndex> storage_of;  ///< kNoStorage: no copy on this device
  std::vector<std::vector<StepPlan>> blocks;   ///< as the blocks and steps of the device's program
  std::vector<Rotation> rotations;
  std::vector<std::int32_t> rotation_of;  ///< by block: in whose turns it is walked; -1: none
  std::int64_t arena_bytes = 0;           ///< the peak
  std::vector<StorageIndex> at_peak;      ///< what lies there when the arena is fullest, greatest first

  /// In whose turns `block` is walked; null: none.
  [[nodiscard]] const Rotation* rotation(std::size_t block) const {
    return rotation_of.empty() || rotation_of[block] < 0 ? nullptr : &rotations[static_cast<std::size_t>(rotation_of[block])];
  }
  [[nodiscard]] const Range& range(ValueId value) const { return storages[static_cast<std::size_t>(storage_of[value])].range; }
};

/// What memory may be spent on, so that less is copied and waited for.
struct Spending {
  std::int64_t slack = 0;       ///< as for find_liveness()
  bool rotate = false;          ///< values that a loop would copy in each trip have two places or more that take turns
  std::int64_t twice_from = 0;  ///< rotating: so have what it sends or receives in each trip so many bytes at once; 0: only what is copied
};

/// `arrays_external`: inputs, parameters, constants and outputs lie outside the arena, in arrays (the host), else in it for the whole run.
MemoryPlan plan_memory(const Program& program, DeviceId device, bool arrays_external, const Fusion& fusion = {},
                       const Spending& spending = {});

/// What plan_memory() takes of a device, all arrays counted; for the planner.
MemoryPeak memory_peak(const Program& program, DeviceId device);

/// Why `plan` does not fit into `capacity` bytes (0: unknown, but less): the peak and the values that make it.
Error does_not_fit(const Program& program, DeviceId device, const MemoryPlan& plan, double capacity);

}  // namespace cleave::runtime
