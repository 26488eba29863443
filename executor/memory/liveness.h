// Liveness: when each value of one device's program is needed, on one linear time that counts the device's steps (each loop body once).
// A value that comes from outside a loop is needed until the loop's end. Knows no memory.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "executor/memory/fusion.h"
#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Step p reads until 2p + 1 and writes from 2p on; an element-wise step has read at 2p what it may overwrite.
using Time = std::int64_t;

struct Interval {
  Time start = std::numeric_limits<Time>::max();
  Time end = -1;

  void include(Time from, Time to) {
    start = std::min(start, from);
    end = std::max(end, to);
  }
  /// Touching at one point is no conflict, being written at the same moment is.
  [[nodiscard]] bool conflicts(const Interval& other) const { return (start < other.end && other.start < end) || start == other.start; }
};

/// Two values that would do well to share storage, best first.
struct Sharing {
  ValueId a, b;
  /// Two names of the same bytes, what a loop leaves, what is yielded to `a`, what `b` starts from, what a branch makes of `a`, and a
  /// result in an operand's place. That both are needed at once is no reason against the first.
  enum class Why : std::uint8_t { same, leaves, yields, starts, merges, in_place } why = Why::in_place;
};

struct Liveness {
  struct Life {
    bool present = false;        ///< the device has a copy
    bool whole_run = false;      ///< inputs, parameters and constants
    std::vector<Interval> live;  ///< when it is needed
    Interval held;               ///< when its storage is taken: all of `live`, and a carried value's whole loop
  };
  IdVector<ValueId, Life> lives;
  std::vector<Sharing> sharings;
  struct Times {
    Time begin = 0;     ///< of the step
    Time arm_end[2]{};  ///< branches
    Time end = 0;       ///< loops and branches: behind everything inside; else `begin`
  };
  std::vector<std::vector<Times>> times;  ///< as the blocks and steps of the program
  Time end = 0;                           ///< of the program
};

/// Operations of `fusion` read and write where the last one of their group stands; what only the group uses is not there at all. `slack`:
/// for so many steps before it is received, and after it is sent, an accelerator's value has its storage for itself, so that copies and
/// operations beside them need not wait for each other. What a call of a host function reads and gives that runs beside the host's steps
/// (runs_beside) is needed until a step reads what it gives, or until its block ends.
Liveness find_liveness(const Program& program, DeviceId device, const Fusion& fusion = {}, std::int64_t slack = 0);

}  // namespace cleave::runtime
