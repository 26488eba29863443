// Hazards: which events a command must wait for because another stream still reads or writes the memory it touches. Only memory that
// transfers touch is watched; all else belongs to the compute stream, which keeps its own order.
#pragma once

#include <array>
#include <vector>

#include "executor/memory/memory_plan.h"
#include "executor/run/channel.h"

namespace cleave::runtime {

class Hazards {
 public:
  /// `transferred`: storages that are sent or received.
  Hazards(const MemoryPlan& plan, const std::vector<StorageIndex>& transferred);

  [[nodiscard]] bool watched(StorageIndex storage) const { return first_[index(storage)] < last_[index(storage)]; }
  /// Adds what a command on `stream` must wait for before it reads (or writes) `storage`.
  void before(Stream stream, StorageIndex storage, bool write, std::vector<Point>& waits) const;
  /// The command is done at `point`.
  void after(Stream stream, StorageIndex storage, bool write, const Point& point);
  void reset();

 private:
  struct Cell {
    std::array<Point, kStreamCount> read, write;  ///< the last of each stream
  };
  static std::size_t index(StorageIndex storage) { return static_cast<std::size_t>(storage); }

  std::vector<std::size_t> first_, last_;  ///< the cells of each storage, a half-open range
  std::vector<Cell> cells_;                ///< the arena cut where a transferred storage begins or ends
};

}  // namespace cleave::runtime
