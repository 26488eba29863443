// What a step of a run costs beside its kernel: walking to it, and handing over its operands. Measured in runs of a program of tiny steps.
#pragma once

#include "graph/base/result.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {

/// Seconds a step, its kernel included, of steps that compute `cumulative_sum` of one f32.
Result<double> seconds_a_step(double budget, int threads, Clock clock);

}  // namespace cleave::calibration
