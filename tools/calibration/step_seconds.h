// Measures the overhead of a run beside its kernels: of the start, of loop iterations, and of every step. Uses programs of tiny steps.
#pragma once

#include "graph/base/result.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {

struct StepSeconds {
  double step = 0;  ///< includes the kernel of a step that computes `cumulative_sum` of one f32
  double trip = 0;  ///< one iteration of a loop, without its steps
  double run = 0;   ///< one run, without its steps
};
Result<StepSeconds> measure_steps(double budget, int threads, Clock clock);

}  // namespace cleave::calibration
