// What a run costs beside its kernels: being started, trips of loops, and every step. Measured in runs of programs of tiny steps.
#pragma once

#include "graph/base/result.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {

struct StepSeconds {
  double step = 0;  ///< its kernel included, of steps that compute `cumulative_sum` of one f32
  double trip = 0;  ///< of a loop, beside its steps
  double run = 0;   ///< beside its steps
};
Result<StepSeconds> measure_steps(double budget, int threads, Clock clock);

}  // namespace cleave::calibration
