// Measures an accelerator for calibration: launches, graphs, matrix products, memory, copies and round trips.
#pragma once

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// Fills `result.machine.accelerators[0]` and `result.latencies`. Returns an Error (machine) from the device.
Status measure_device(const CalibrationOptions& options, runtime::Device& device, Calibration& result);

}  // namespace cleave::calibration
