// Liveness: the live ranges of the values of one device's program, on a linear time that counts the device's steps (each loop body once). A
// value defined outside a loop and used inside is live until the loop's end. Independent of memory.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "executor/memory/fusion.h"
#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Step p reads until 2p + 1 and writes from 2p on; an element-wise step has finished reading at 2p an operand that it may overwrite.
using Time = std::int64_t;

struct Interval {
  Time start = std::numeric_limits<Time>::max();
  Time end = -1;

  void include(Time from, Time to) {
    start = std::min(start, from);
    end = std::max(end, to);
  }
  /// Intervals conflict if they overlap or start together; two that only touch do not conflict.
  [[nodiscard]] bool conflicts(const Interval& other) const { return (start < other.end && other.start < end) || start == other.start; }
};

/// Two values that should share storage; a list has the most useful first.
struct Sharing {
  ValueId a, b;
  /// The relation of `a` and `b`: `same`: b is an alias of a; `leaves`: b is the loop's result for the carried a; `yields`: b is yielded to
  /// a; `starts`: a is the initial value of b; `merges`: b is a branch's result from a; `in_place`: b may overwrite its operand a. Only
  /// `same` permits overlapping live ranges.
  enum class Why : std::uint8_t { same, leaves, yields, starts, merges, in_place } why = Why::in_place;
};

struct Liveness {
  struct Life {
    bool present = false;        ///< the device has a copy
    bool whole_run = false;      ///< inputs, parameters and constants
    std::vector<Interval> live;  ///< when it is needed, as disjoint ranges
    Interval held;               ///< when its storage is reserved: all of `live`, and for a carried value the whole loop
  };
  IdVector<ValueId, Life> lives;
  std::vector<Sharing> sharings;
  struct Times {
    Time begin = 0;     ///< time of the step
    Time arm_end[2]{};  ///< branches: the end of each arm
    Time end = 0;       ///< loops and branches: after everything inside; else `begin`
  };
  std::vector<std::vector<Times>> times;  ///< indexed like the blocks and steps of the program
  Time end = 0;                           ///< the end of the program
};

/// Finds the live ranges. Operations of a group of `fusion` read and write at the step of the group's last operation; values used only
/// inside a group are absent. `slack`: on an accelerator, the number of steps before a value is received, and after it is sent, during
/// which its storage is exclusive, so that copies and neighbouring operations need not wait for each other. Operands and results of a host
/// function call that runs concurrently with the host's steps (runs_beside) are live until a step reads a result, or until the block ends.
Liveness find_liveness(const Program& program, DeviceId device, const Fusion& fusion = {}, std::int64_t slack = 0);

}  // namespace cleave::runtime
