// Wiring: the one place that connects the parts: it translates a caller's request (CompileOptions) into the options of the planner and the
// executor. Both compile() and the command line use it.
#pragma once

#include <memory>

#include "executor/api/executable.h"
#include "executor/device/back_end.h"
#include "executor/run/executor.h"
#include "partitioner/compile.h"
#include "partitioner/plan_file.h"

namespace cleave::runtime {

struct Wiring {
  PlanOptions plan;
  ExecutorSetup executor;
};

/// An Error for a device or machine that is not available, or for options that do not apply to the device.
Result<Wiring> wire(const CompileOptions& options);

/// The settings of these options on this machine that a plan file records.
planner::PlanSettings plan_settings(const CompileOptions& options, const Wiring& wiring);

/// Prepares a plan to run, with the plan's own costs.
Result<std::unique_ptr<Executor>> make_executor(const Plan& plan, const ExecutorSetup& setup);

}  // namespace cleave::runtime
