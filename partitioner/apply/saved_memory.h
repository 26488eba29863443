// SavedMemory: what became of the values for which the accelerator's memory is too small: kept there, kept on the host, or computed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/source_location.h"

namespace cleave::planner {

/// The results of an operation that are read after the moment at which memory is fullest.
struct SavedValue {
  enum class How : std::uint8_t { kept, host, again };
  std::string name;
  SourceLocation location;
  How how = How::kept;
  double bytes = 0;    ///< that it takes at that moment, or would take
  double seconds = 0;  ///< of computing it again, or of its way to the host and back, in a run; 0 if it is kept
};

/// A loop whose gradient is computed in segments: only every so many trips the carried values are kept, and the trips of a segment are
/// computed again before its gradient.
struct SegmentedLoop {
  std::string name;
  SourceLocation location;
  std::int64_t trips = 0;
  std::int64_t every = 0;    ///< trips of a segment
  double stacked_bytes = 0;  ///< of what is saved of each trip, if all is kept
  double bytes = 0;          ///< of the carried values that are kept, and of what is saved of the trips of one segment
  double seconds = 0;        ///< of computing trips again, in a run
};

/// The values that are read after the moment at which memory is fullest, if not all of them are kept.
struct SavedMemory {
  std::vector<SavedValue> values;  ///< in program order
  std::vector<SegmentedLoop> loops;
  double seconds = 0;                   ///< of all that is computed again or moved, in a run, each operation as a kernel of its own
  std::optional<double> bound_seconds;  ///< no choice by which this moment fits takes less, counted alike and in the same placement
  double peak_bytes = 0;                ///< of the program in which everything is kept
};

}  // namespace cleave::planner
