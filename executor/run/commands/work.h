// Work: the memory that one command of a device accesses, and its cost: all that decides what the command waits for.
#pragma once

#include <span>
#include <vector>

#include "executor/memory/memory_plan.h"

namespace cleave::runtime {

struct Work {
  std::vector<StorageIndex> reads, writes;
  double seconds = 0;
  bool awaited = false;  ///< a later trip's copy waits for this command

  /// Accesses what `other` accesses, too.
  void access(const Work& other) {
    reads.insert(reads.end(), other.reads.begin(), other.reads.end());
    writes.insert(writes.end(), other.writes.begin(), other.writes.end());
  }
};

/// A view of Work.
struct WorkView {
  std::span<const StorageIndex> reads, writes;
  double seconds = 0;
  bool awaited = false;
  WorkView(std::span<const StorageIndex> read, std::span<const StorageIndex> written, double takes)
      : reads(read), writes(written), seconds(takes) {}
  WorkView(const Work& work)  // NOLINT(google-explicit-constructor)
      : reads(work.reads), writes(work.writes), seconds(work.seconds), awaited(work.awaited) {}
};

}  // namespace cleave::runtime
