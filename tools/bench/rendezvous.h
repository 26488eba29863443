// What the executor takes around a GPU, measured on one that computes nothing (stub_gpu.h): a meeting of host and accelerator in a loop, a
// piece of many kernels without a meeting, and how much runs at once.
#pragma once

#include <map>
#include <string>

#include "tools/bench/stub_gpu.h"

namespace cleave::bench {

struct StubSetting {
  StubTraits traits;
  int trips = 2000;             ///< of the loop in each run
  int runs = 20;                ///< of which the best one counts
  int cores = 0;                ///< that the executor believes in; 0: as the system says
  double lane_seconds = 10e-3;  ///< what a kernel or a large transfer takes where it is measured how much runs at once
};

/// One run, the best of many. Seconds of the processor are without those of the stub.
struct RunCosts {
  double wall_seconds = 0;
  double processor_seconds = 0;         ///< of all threads
  double host_seconds = 0;              ///< of the thread that called run(): the host's side
  double stub_seconds = 0;              ///< what was left out: the stub's thread, and its part of the calls
  StubGpu::Counts calls;                ///< of the driver
  std::map<std::string, double> lanes;  ///< how long each part of the machine was busy, by the program's own figures
};

/// A loop whose body has one host function and one operation on the accelerator: two meetings a trip, by mailboxes where the stub waits for
/// words, else by copies and events.
RunCosts run_trips(const StubSetting& setting);
/// So many operations in a row on the accelerator, as one CUDA graph or launched one by one.
RunCosts run_segment(const StubSetting& setting, int operations, bool as_graph);
/// A host function that takes four `seconds`, beside four kernels and a transfer of one each; the first kernel does not need the transfer.
/// What overlaps best takes no longer than the host function.
RunCosts run_side_by_side(double seconds, int runs);
/// A loop in which the host makes a large value for the accelerator in each trip: making, transfer and kernel take `seconds` each.
RunCosts run_pipeline(double seconds, int trips, int runs);
/// A loop in which a kernel makes a large value of that of the trip before, and the host looks at it: each takes `seconds`, and transfers
/// do.
RunCosts run_pipeline_back(double seconds, int trips, int runs);

/// An array of 32 MiB that the host computes, that the accelerator takes and gives back, and that the host reduces: each copy takes
/// `seconds`. In parts, the host works while they cross; else as wholes.
RunCosts run_large(double seconds, bool in_parts, int runs);

}  // namespace cleave::bench
