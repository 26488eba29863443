// What a caller may ask of the executor, whatever the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/array/precision.h"

namespace cleave {

struct ExecutorOptions {
  Precision precision = Precision::f32;  ///< of the accelerator's matrix products of f32; without an accelerator only f32
  int threads = 0;                       ///< of the host's kernels, the caller's included; 0: the cores that the process is given
  /// On how many threads pure host functions are called that declare 0.1 ms or more: so many calls at once, beside the program's steps. 1:
  /// one call at a time, where it stands. Asynchronous functions are not counted: their calls are under way together anyway.
  int workers = 1;
  bool fuse = true;          ///< neighbouring operations run as one kernel where the device has one
  bool stream_mode = false;  ///< cuda: every operation launched by itself, to find where an error of the device comes from
  enum class Schedule : std::uint8_t { eager, latest, random } schedule = Schedule::eager;  ///< of the simulated accelerator's streams
  std::uint64_t schedule_seed = 0;
  int channel_capacity = 0;      ///< values of each channel that may be under way at once; 0: as many as the plan says
  double watchdog_seconds = 30;  ///< without any step executing before a run is ended with an Error
  bool check_memory = false;     ///< simulated accelerator: every operand byte must have been written
  std::string inject;            ///< fault injection on the simulated accelerator; see simulated/faults.h
  /// Where a host function's library is looked for if it is not at its own path: each of these joined with its file name.
  std::vector<std::string> library_paths;
};

}  // namespace cleave
