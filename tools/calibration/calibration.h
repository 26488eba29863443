// calibrate(): measures the rates of this machine and returns them as a Machine. It measures the host through the host's kernels and the
// executor, and an accelerator through the Device interface, so that the results are what a run attains. Knows no kind of device.
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
  /// Opens the accelerator; null: there is none, and the accelerators of `given` are kept unchanged.
  std::function<Result<std::unique_ptr<runtime::Device>>()> open;
  bool simulates = false;           ///< the accelerator's times are those of a virtual clock
  kernels::KernelSupport supports;  ///< the accelerator's kernels; null: all
  /// Provides names and numbers that are not measured: memory sizes, rates of types without a matrix product.
  Machine given;
  int threads = 0;                          ///< threads of the host's kernels; 0: as many as the process may use
  double seconds_a_point = 0.01;            ///< time to repeat each call, tripled if the times disagree; at least three repetitions
  double most_seconds = 110;                ///< time budget; once it is spent, no further table is begun
  double least_core_share = 0.6;            ///< the smallest share of a core at which calibration measures; with less, it fails
  std::int64_t largest_copy = 1LL << 30;    ///< bytes; copies go from 4 KiB to this in powers of four
  std::int64_t memory_bytes = 256LL << 20;  ///< approximate size of the largest call, operands and results together
  /// Called with the current measurement and the fraction of all that is done, from 0 to 1; may be null.
  std::function<void(std::string_view what, double done)> progress;
};

/// The rate of the largest call in a table, on an accelerator.
struct KernelRate {
  std::string table;
  CostClass family = CostClass::bookkeeping;
  double bytes = 0, flops = 0, seconds = 0;
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds; }
};

struct Calibration {
  Machine machine;  ///< provenance: `measured` if an accelerator was measured, else that of `given`
  /// Median latencies in seconds, by name: enqueueing a launch, waiting for a launch, an event between two streams, a round trip of eight
  /// bytes (accelerator to host and back), and a hundred launches as one graph if the device has graphs. Empty without an accelerator.
  std::vector<std::pair<std::string, double>> latencies;
  std::vector<KernelRate> kernels;  ///< kernels of the accelerator, one entry for each table
  /// Agreement of the host's tables with calls of sizes between their points, measured afterwards: as factors, 1.1 for ten percent either
  /// way.
  struct Fit {
    int calls = 0;
    double median = 1, worst = 1;
    std::string worst_table;
  } fit;
  int left_out = 0;       ///< tables not measured for lack of time
  double core_share = 1;  ///< the share of a core that the measuring thread got: 1 on an idle machine
};

/// Takes at most about two minutes. Returns an Error (machine) from the device, or if the machine is so busy that the thread gets less than
/// `least_core_share` of a core, before or while it measures.
Result<Calibration> calibrate(const CalibrationOptions& options);

}  // namespace cleave
