// Hazards: finds the events that a command must wait for because another stream still reads or writes the memory that it accesses. Only
// memory accessed by transfers is tracked; all other memory belongs to the compute stream, which is ordered.
#pragma once

#include <array>
#include <vector>

#include "executor/memory/memory_plan.h"
#include "executor/run/clock/point.h"

namespace cleave::runtime {

class Hazards {
 public:
  /// `transferred` has the storages that are sent or received.
  Hazards(const MemoryPlan& plan, const std::vector<StorageIndex>& transferred);

  [[nodiscard]] bool watched(StorageIndex storage) const { return first_[index(storage)] < last_[index(storage)]; }
  /// Whether two storages share tracked memory.
  [[nodiscard]] bool overlap(StorageIndex a, StorageIndex b) const {
    return first_[index(a)] < last_[index(b)] && first_[index(b)] < last_[index(a)];
  }
  /// Appends to `waits` the points that a command on `stream` must wait for before it reads (or writes) `storage`.
  void before(Stream stream, StorageIndex storage, bool write, std::vector<Point>& waits) const;
  /// Records an access by a command that completes at `point`.
  void after(Stream stream, StorageIndex storage, bool write, const Point& point);
  void reset();

 private:
  struct Cell {
    std::array<Point, kStreamCount> read, write;  ///< the last access of each stream
  };
  static std::size_t index(StorageIndex storage) { return static_cast<std::size_t>(storage); }

  std::vector<std::size_t> first_, last_;  ///< the half-open range of cells of each storage
  std::vector<Cell> cells_;                ///< the arena, cut at the begin and end of each transferred storage
};

}  // namespace cleave::runtime
