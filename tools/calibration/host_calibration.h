// What calibration measures of the host: every kernel, by type, size and form; what a step of a run costs beside its kernel; and how well
// the tables tell what lies between their points.
#pragma once

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// Fills `result.machine.host` and `result.fit`.
Status measure_host(const CalibrationOptions& options, Calibration& result);

}  // namespace cleave::calibration
