// Measures the host for calibration: every kernel, by type, size and form; the overhead of a step of a run beside its kernel; and the
// accuracy of the tables between their points.
#pragma once

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// Fills `result.machine.host` and `result.fit`.
Status measure_host(const CalibrationOptions& options, Calibration& result);

}  // namespace cleave::calibration
