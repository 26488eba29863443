// Executor: runs a Program. Both sides walk their step lists concurrently and synchronize only at channels; an error can wake every wait.
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

/// One program made ready to run: devices opened, memory planned, host libraries loaded. It may run any number of times, but an Executor
/// has at most one run at a time.
class Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const Program> program, const StepCosts& costs,
                                                  const ExecutorSetup& setup);
  virtual ~Executor() = default;
  virtual Result<RunResult> run(const RunOptions& options) = 0;
  /// Ends the run under way, from any thread: no further step starts, every wait is woken, and run() returns the Error `why`, unless there
  /// is an error already. False if there is no run, or if it has not reached its first step. The next run starts afresh.
  virtual bool end(const Error& why) = 0;
  bool cancel() { return end({"cancelled", {}, ErrorKind::user}); }
  /// The node that the host is executing, if any. Only a host step under way cannot be ended.
  [[nodiscard]] virtual std::optional<NodeId> computing() const = 0;
  /// During a run, on the thread of a host function that it calls at the end of a trip of the outermost loop: hands the logged step under
  /// way to the caller, and returns where the log stands.
  virtual SavedPosition mark_log() = 0;
  /// Whether the executor has lost its accelerator: then every later run is an Error.
  [[nodiscard]] virtual bool lost() const = 0;
  /// The peak of a device's memory in bytes: planned before any run, and measured over the runs so far.
  [[nodiscard]] virtual std::int64_t planned_peak(DeviceId device) const = 0;
  [[nodiscard]] virtual std::int64_t measured_peak(DeviceId device) const = 0;
  /// Between runs: the value of the state of the input or parameter `name` after the last successful run. An Error (unknown) for another
  /// name, (usage) before the first run.
  virtual Result<Array> state(std::string_view name) = 0;
  /// Between runs: resets all states to the values that the next run is given or that the model has for them.
  virtual void reset_states() = 0;
};

}  // namespace cleave::runtime
