// The executor's overhead around a GPU, measured with a stub that computes nothing (stub_gpu.h): for a synchronization of host and
// accelerator in a loop, for a segment of many kernels without synchronization, and for the overlap of host, copies and kernels.
#pragma once

#include <map>
#include <string>

#include "tools/bench/stub_gpu.h"

namespace cleave::bench {

struct StubSetting {
  StubTraits traits;
  int trips = 2000;             ///< trip count of the loop in each run
  int runs = 20;                ///< number of runs; the best one counts
  int cores = 0;                ///< number of cores that the executor assumes; 0: as reported by the system
  double lane_seconds = 10e-3;  ///< duration of a kernel or a large transfer in the measurements of overlap
};

/// Costs of the best run of many. Processor seconds exclude those of the stub.
struct RunCosts {
  double wall_seconds = 0;
  double processor_seconds = 0;         ///< all threads
  double host_seconds = 0;              ///< the thread that called run(): the host's side
  double stub_seconds = 0;              ///< the excluded part: the stub's thread, and its share of the driver calls
  StubGpu::Counts calls;                ///< driver calls
  std::map<std::string, double> lanes;  ///< busy seconds of each part of the machine, from the program's own figures
};

/// A loop whose body has one host function and one operation on the accelerator: two synchronizations in each iteration, by mailboxes if
/// the stub can wait for words, else by copies and events.
RunCosts run_trips(const StubSetting& setting);
/// `operations` operations in sequence on the accelerator, as one CUDA graph or launched one by one.
RunCosts run_segment(const StubSetting& setting, int operations, bool as_graph);
/// A host function of four `seconds`, beside four kernels and a transfer of one each; the first kernel does not need the transfer. With
/// perfect overlap, the run takes no longer than the host function.
RunCosts run_side_by_side(double seconds, int runs);
/// A loop in which the host makes a large value for the accelerator in each iteration: the host function, the transfer and the kernel take
/// `seconds` each.
RunCosts run_pipeline(double seconds, int trips, int runs);
/// A loop in which a kernel computes a large value from that of the previous iteration, and the host reads it: kernel, transfer and host
/// function take `seconds` each.
RunCosts run_pipeline_back(double seconds, int trips, int runs);

/// An array of 32 MiB that the host computes, the accelerator reads and returns, and the host reduces: each copy takes `seconds`. With
/// `in_parts`, copies are chunked and overlap with the host's work; else each is one piece.
RunCosts run_large(double seconds, bool in_parts, int runs);

}  // namespace cleave::bench
