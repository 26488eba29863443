// calibrate(): measures what this machine can do and gives it as a Machine. The host is measured through the host's kernels and the
// executor, an accelerator through the Device interface, so that what is measured is what a run will get. Knows no kind of device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"

namespace cleave {

namespace runtime {
class Device;
}

struct CalibrationOptions {
  /// Opens the accelerator; null: there is none, and the accelerators of `given` stand as they are.
  std::function<Result<std::unique_ptr<runtime::Device>>()> open;
  planner::KernelSupport supports;  ///< what it has kernels for; null: everything
  /// Its name and what is not measured: memory sizes, rates of types without a matrix product.
  Machine given;
  int threads = 0;                          ///< of the host's kernels; 0: as many as the process is given
  double seconds_a_point = 0.01;            ///< of repetitions, three times as long where they disagree; at least three are made
  double most_seconds = 110;                ///< of all, after which no further table is begun
  double least_core_share = 0.6;            ///< of a core, that measuring has to get; below it nothing is measured
  std::int64_t largest_copy = 1LL << 30;    ///< bytes; copies go from 4 KiB to this in powers of four
  std::int64_t memory_bytes = 256LL << 20;  ///< of the largest call, operands and results together, about
  /// What is measured now, and which part of all is done, from 0 to 1; null: nobody wants to know.
  std::function<void(std::string_view what, double done)> progress;
};

/// What the largest call of a table reached on an accelerator.
struct KernelRate {
  std::string table;
  CostClass family = CostClass::bookkeeping;
  double bytes = 0, flops = 0, seconds = 0;
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds; }
};

struct Calibration {
  Machine machine;  ///< provenance `measured` if an accelerator was, else that of `given`
  /// Seconds by what was waited for, medians: a launch enqueued, a launch waited for, an event between two streams, a round trip of eight
  /// bytes (accelerator to host and back), and a hundred launches as one graph where the device has graphs. Empty without an accelerator.
  std::vector<std::pair<std::string, double>> latencies;
  std::vector<KernelRate> kernels;  ///< of the accelerator, a table each
  /// How the host's tables compare with calls of sizes in between, measured afterwards: as factors, 1.1 for ten percent either way.
  struct Fit {
    int calls = 0;
    double median = 1, worst = 1;
    std::string worst_table;
  } fit;
  int left_out = 0;       ///< tables for which there was no time
  double core_share = 1;  ///< of a core, that the thread that measured the host really got: 1 on an idle machine
};

/// Takes at most about two minutes. An Error (machine) of the device, and where the machine is so busy that measuring gets less than
/// `least_core_share` of a core, before it or in its course.
Result<Calibration> calibrate(const CalibrationOptions& options);

}  // namespace cleave
