// The one place that wires the parts: from what a caller asks for (CompileOptions) to what the planner and the executor are told. compile()
// and the command line both come through here.
#pragma once

#include <memory>

#include "executor/api/executable.h"
#include "executor/device/back_end.h"
#include "executor/run/executor.h"
#include "partitioner/compile.h"

namespace cleave::runtime {

struct Wiring {
  PlanOptions plan;
  ExecutorSetup executor;
};

/// An Error for a device or machine that cannot be had, or options that mean nothing to the device.
Result<Wiring> wire(const CompileOptions& options);

/// Readies a plan to run, with the plan's own costs.
Result<std::unique_ptr<Executor>> make_executor(const Plan& plan, const ExecutorSetup& setup);

}  // namespace cleave::runtime
