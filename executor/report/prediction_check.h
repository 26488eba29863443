// check_prediction(): checks the limit `prediction_error` of a program after a run.
#pragma once

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/base/diagnostic.h"
#include "partitioner/compile.h"

namespace cleave::runtime {

/// An error at the line of the limit if `seconds`, the time of a run, differs from plan.predicted_seconds by more than that fraction
/// (`limits.prediction_error`), with the operations and transfers of `timeline` that deviate most; else nothing. `runs`: the number of runs
/// of which `seconds` is the median.
Diagnostics check_prediction(const Plan& plan, double seconds, const Timeline& timeline, std::size_t runs = 1);

}  // namespace cleave::runtime
