// Sides: the host's driver and the devices' drivers of one program, with the transports between them, and the threads that they borrow for
// one run. Walks the programs of all sides at the same time; what a run means to its caller is the Executor's matter.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "executor/device/thread_cache.h"
#include "executor/run/driver/device_driver.h"
#include "executor/run/driver/host_driver.h"
#include "executor/run/driver/outputs.h"
#include "executor/run/early_outputs.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class Sides {
 public:
  /// Prepares all sides. `simulated`: times are those of the virtual clock, also if the program leaves the simulated accelerator idle.
  static Result<std::unique_ptr<Sides>> create(std::unique_ptr<Prepared> prepared, bool simulated);

  [[nodiscard]] Prepared& prepared() { return *prepared_; }
  /// Whether there is a side besides the host.
  [[nodiscard]] bool several() const { return !drivers_.empty(); }

  /// Must be called before everything below: borrows one thread for each driver, and one for outputs that are wanted early. An Error
  /// (machine) if the system has none.
  Status borrow_threads(const RunOptions& options);
  void give_threads_back();

  /// Must be called before each run. Without an Error, walk() must follow.
  Status begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident);
  /// Walks all programs to their ends, or to an error.
  void walk(RunState& run, RunProgress* progress);
  /// Reports the remaining events of the timeline and the logged step under way; the first error of doing so.
  Status tell_rest();
  /// After a run: the devices take over the next values of the states that they keep, unless the run failed.
  Status take_over_states(bool went_well);
  /// The outputs of a successful run, and what was observed of it.
  [[nodiscard]] Result<RunResult> collect(const RunOptions& options) const;
  /// Releases the run's arrays, so that their owners can write to them without a copy.
  void let_go();

  /// During a run, on the host's thread (Executor::mark_log).
  SavedPosition mark_log() { return host_->steps().mark(); }
  /// The NaN at which the last run was stopped.
  [[nodiscard]] const std::optional<StepCollector::LoggedNan>& logged_nan() const { return host_->steps().nan(); }
  /// From any thread: every wait of a device ends, and commands that have not started never do.
  void abort() const;
  /// Between runs: reads the value of a state on an accelerator.
  Result<Array> read(ValueId value);
  /// After a run: the host's copy of a value.
  [[nodiscard]] Array output(ValueId value) const { return host_->arrays().output(value); }

 private:
  Sides(std::unique_ptr<Prepared> prepared, Transports transports, bool simulated);
  Status open(HostOperations operations);
  /// Calls `call` on the driver's thread, and waits.
  template <class F>
  void on_thread(std::size_t driver, F&& call);
  void release() const;
  void count_transfers(RunResult& result) const;

  const std::unique_ptr<Prepared> prepared_;
  Transports transports_;
  const bool simulated_;
  Outputs outputs_;
  EarlyOutputs early_outputs_;
  std::unique_ptr<HostDriver> host_;
  std::vector<std::unique_ptr<DeviceDriver>> drivers_;
  const std::shared_ptr<ThreadCache> threads_ = ThreadCache::shared();
  std::vector<LentThread> driver_threads_;  ///< one for each driver
  LentThread early_thread_;                 ///< of a run whose outputs are reported early
};

}  // namespace cleave::runtime
