#include "executor/api/wiring.h"

#include <string>

#include "executor/api/back_ends.h"
#include "executor/device/kernel.h"
#include "executor/device/workers.h"
#include "executor/memory/plan_memory.h"

namespace cleave::runtime {

Result<Wiring> wire(const CompileOptions& options) {
  if (options.executor.workers < 0)
    return Error{"the number of workers is " + std::to_string(options.executor.workers) + "; it is at least 0", {}, ErrorKind::usage};
  if (!(options.accelerator_memory_bytes >= 0))
    return Error{"the accelerator's memory is limited to " + std::to_string(options.accelerator_memory_bytes) +
                     " bytes; a limit is positive (0: what the machine has)",
                 {},
                 ErrorKind::usage};
  if (options.executor.channel_capacity < 0)
    return Error{"a channel holds " + std::to_string(options.executor.channel_capacity) + " values; it holds at least 1 (0: as planned)",
                 {},
                 ErrorKind::usage};
  Result<ExecutorSetup> setup = choose_device(options.device, options.executor);
  if (!setup) return setup.error();
  Result<Machine> machine = choose_machine(options.machine, setup->back_end);
  if (!machine) return machine.error();
  for (const std::string& pass : options.passes.disabled)
    if (Status known = check_disabled(pass); !known) return known.error();

  Wiring wiring;
  wiring.plan.costs.machine = *std::move(machine);
  if (options.accelerator_memory_bytes > 0)
    for (DeviceRates& accelerator : wiring.plan.costs.machine.accelerators) accelerator.memory_bytes = options.accelerator_memory_bytes;
  wiring.plan.costs.supported = setup->back_end.supports;
  if (options.executor.fuse) {
    wiring.plan.costs.host_fuses = host_fuses;
    wiring.plan.costs.accelerator_fuses = setup->back_end.fuses;
  }
  wiring.plan.costs.policy = options.placement;
  wiring.plan.costs.has_accelerator = static_cast<bool>(setup->back_end.open);
  wiring.plan.costs.host_threads = options.executor.threads > 0 ? options.executor.threads : Workers::available();
  wiring.plan.costs.profile = options.profile;
  wiring.plan.costs.precision = options.executor.precision;
  wiring.plan.costs.in_precision = setup->back_end.in_precision;
  wiring.plan.diagnostics = options.diagnostics;
  wiring.plan.simplify = options.simplify;
  wiring.plan.passes = options.passes;
  if (options.keep == CompileOptions::Keep::all) wiring.plan.passes.disabled.insert("compute-again");
  wiring.plan.costs.workers = options.executor.workers;
  wiring.plan.channel_depth = options.executor.channel_capacity;
  wiring.plan.find_peak = memory_peak;
  wiring.plan.constants = options.constants;
  wiring.executor = *std::move(setup);
  wiring.executor.constants = options.constants;
  return wiring;
}

Result<std::unique_ptr<Executor>> make_executor(const Plan& plan, const ExecutorSetup& setup) {
  return Executor::create(std::make_shared<const Program>(plan.program), step_costs(plan.program, plan.costed, plan.machine), setup);
}

}  // namespace cleave::runtime
