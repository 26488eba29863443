// Executor: runs a Program. Both sides walk their step lists at once and meet only at channels; every wait can be woken by an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "executor/arguments/run_options.h"
#include "executor/device/back_end.h"
#include "executor/runtime.h"
#include "graph/base/result.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::runtime {

/// One program made ready to run: devices opened, memory planned, host libraries loaded. May run any number of times, one run at a time per
/// Executor.
class Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const Program> program, const StepCosts& costs,
                                                  const ExecutorSetup& setup);
  virtual ~Executor() = default;
  virtual Result<RunResult> run(const RunOptions& options) = 0;
  /// Ends the run under way, from any thread: no further step starts, every wait is woken, and run() gives the Error `why`, unless there
  /// is one already. False if there is none, or it has not got as far as its first step. The next run starts afresh.
  virtual bool end(const Error& why) = 0;
  bool cancel() { return end({"cancelled", {}, ErrorKind::user}); }
  /// What the host computes in the run under way, if anything: this alone cannot be ended.
  [[nodiscard]] virtual std::optional<NodeId> computing() const = 0;
  /// Whether its accelerator was lost: every later run is an Error.
  [[nodiscard]] virtual bool lost() const = 0;
  /// Bytes of a device's memory that the plan takes at its peak, stated before any run; and what runs so far really touched.
  [[nodiscard]] virtual std::int64_t planned_peak(DeviceId device) const = 0;
  [[nodiscard]] virtual std::int64_t measured_peak(DeviceId device) const = 0;
  /// Between runs: the value of the state that the input or parameter `name` is, as the last run that went well left it. An Error
  /// (unknown) for another name, (usage) before the first run.
  virtual Result<Array> state(std::string_view name) = 0;
  /// Between runs: all states begin anew, with what the next run is given or the model has for them.
  virtual void reset_states() = 0;
};

}  // namespace cleave::runtime
