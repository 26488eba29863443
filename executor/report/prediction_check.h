// check_prediction(): the limit `prediction_error` of a program, after it has run.
#pragma once

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/base/diagnostic.h"
#include "partitioner/compile.h"

namespace cleave::runtime {

/// An error at the line of the limit where `seconds`, the time of a run, differ from plan.predicted_seconds by more than
/// `limits.prediction_error` of it, with the operations and transfers of `timeline` that deviate most; else nothing. `runs`: `seconds` are
/// the median of so many.
Diagnostics check_prediction(const Plan& plan, double seconds, const Timeline& timeline, std::size_t runs = 1);

}  // namespace cleave::runtime
