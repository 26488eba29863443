// calibrate(): measures what this machine can do and gives it as a Machine. The host is measured through the host's kernels, an accelerator
// through the Device interface, so that what is measured is what the executor will get. Knows no kind of device; names the two operations
// that it measures with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/machine/machine.h"

namespace cleave {

namespace runtime {
class Device;
}

struct CalibrationOptions {
  /// Opens the accelerator; null: there is none, and the accelerators of `given` stand as they are.
  std::function<Result<std::unique_ptr<runtime::Device>>()> open;
  /// Its name and what is not measured: memory sizes, element types without a matrix product.
  Machine given;
  double seconds_a_point = 0.03;                   ///< of repetitions; at least three are made
  std::int64_t largest_copy = 1LL << 30;           ///< bytes; copies go from 4 KiB to this in powers of four
  std::int64_t largest_matrix = 4096;              ///< rows of the largest square matrix product on the accelerator; the host stops at 1024
  std::int64_t memory_bytes = 256LL << 20;         ///< read and written by the test of memory rates
  std::function<void(std::string_view)> progress;  ///< what is measured next; null: nobody wants to know
};

struct Calibration {
  Machine machine;  ///< provenance `measured` if an accelerator was, else that of `given`
  /// Seconds by what was waited for, medians: a launch enqueued, a launch waited for, an event between two streams, a round trip of eight
  /// bytes (accelerator to host and back), and a hundred launches as one graph where the device has graphs. Empty without an accelerator.
  std::vector<std::pair<std::string, double>> latencies;
};

/// Takes from seconds to about a minute, by the options. An Error (machine) of the device.
Result<Calibration> calibrate(const CalibrationOptions& options);

}  // namespace cleave
