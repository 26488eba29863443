// SavedMemory: the values that a plan keeps in the accelerator's memory, and those that it computes again because the memory is too small.
#pragma once

#include <string>
#include <vector>

#include "graph/base/source_location.h"

namespace cleave::planner {

/// The results of an operation that are read after the moment at which memory is fullest.
struct SavedValue {
  std::string name;
  SourceLocation location;
  bool again = false;  ///< computed again; else kept
  double bytes = 0;    ///< that it takes at that moment, or would take
  double seconds = 0;  ///< of computing it again, in a run; 0 if it is kept
};

/// The values that are kept, and those that are computed again, for lack of memory.
struct SavedMemory {
  std::vector<SavedValue> values;  ///< in program order
  double seconds = 0;              ///< of all that is computed again, in a run, each operation as a kernel of its own
  double bound_seconds = 0;        ///< no choice by which this moment fits takes less, counted alike and in the same placement
  double peak_bytes = 0;           ///< of the program in which nothing is computed again
};

}  // namespace cleave::planner
