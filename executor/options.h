// Options of the executor that do not depend on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/array/precision.h"

namespace cleave {

struct ExecutorOptions {
  Precision precision = Precision::f32;  ///< of f32 matrix products on the accelerator; without an accelerator only f32
  int threads = 0;  ///< number of threads of the host's kernels, including the caller's; 0: the cores that the process may use
  /// Number of threads that work beside the program's steps. They make the data of a loop's next trips ahead (LoopOptions::prefetch). From
  /// 2 on they also call pure host functions that declare 0.1 ms or more, this many at once; with less, no function is called by two
  /// threads at once. 0: none, everything happens in program order. Calls of asynchronous functions are not counted: they always overlap.
  int workers = 1;
  bool fuse = true;          ///< neighboring operations run as one kernel if the device has one for them
  bool stream_mode = false;  ///< cuda: every operation is launched by itself, to locate an error of the device
  enum class Schedule : std::uint8_t {
    eager,
    latest,
    random
  } schedule = Schedule::eager;  ///< order in which the simulated accelerator executes its streams
  std::uint64_t schedule_seed = 0;
  int channel_capacity = 0;      ///< number of values of each channel that may be in flight; 0: as the plan says
  double watchdog_seconds = 30;  ///< seconds without any executing step after which a run ends with an Error
  bool check_memory = false;     ///< simulated accelerator: every operand byte must have been written
  std::string inject;            ///< fault injection on the simulated accelerator; see simulated/faults.h
  /// Folders in which a host function's library is searched if it is not at its own path: each is joined with the library's file name.
  std::vector<std::string> library_paths;
};

}  // namespace cleave
