// HostKernels: runs the host's operations, one at a time or a range of pieces at a time, on the current addresses of their operands.
#pragma once

#include <span>
#include <vector>

#include "executor/arguments/step_collector.h"
#include "executor/report/observation.h"
#include "executor/report/sample_clock.h"
#include "executor/run/driver/run_arrays.h"
#include "executor/run/prepare/host_operations.h"
#include "executor/run/prepare/open_transports.h"

namespace cleave::runtime {

class HostKernels {
 public:
  HostKernels(const Prepared& prepared, HostOperations operations, const Transports& transports, HostEnd& end);

  /// Must be called before each run, once `arrays` has begun. `options` must outlive the run.
  void begin(const RunOptions& options, const RunArrays& arrays, StepCollector& steps);

  /// Runs the operation at `here`, or its whole group. In verify mode, compares its results with the reference implementations'.
  bool run(const Origin& here);
  /// Waits for the slots of results that the next step sends: a value that were computed in the arena meanwhile would have to be copied.
  /// False: the run has stopped.
  bool wait_for_slots(const Origin& here);
  /// Runs a range of the pieces of `call`, and adds its time to `sample`.
  bool run_pieces(const KernelCall& call, const Origin& here, std::int64_t begin, std::int64_t end, SampleClock::Sample& sample);

  /// Looks up the addresses of operands, and assigns the results theirs. Must be called before call().
  void place(NodeId id);
  /// The call on the addresses found last; may be called from any thread.
  [[nodiscard]] KernelCall call(NodeId id, const OpContext& context) const;
  /// The same in the run's own context.
  [[nodiscard]] KernelCall call(NodeId id, const CallLimits* limits = nullptr);

  /// Records the time of an operation that ran, if the run is observed.
  void observe(NodeId id, const SampleClock::Sample& sample);
  [[nodiscard]] Observation& observation() { return observation_; }
  [[nodiscard]] bool verifies() const { return options_->verify; }
  [[nodiscard]] bool observes() const { return options_->observe; }
  [[nodiscard]] const HostOperations& operations() const { return operations_; }
  [[nodiscard]] HostKernel& kernel(NodeId id) const { return *operations_.of[id].kernel; }
  /// The operands of an operation and its results, where they were found last.
  [[nodiscard]] std::span<const TensorView> inputs(NodeId id) const;
  [[nodiscard]] std::span<const TensorView> results(NodeId id) const;

 private:
  bool run(const Origin& here, const CallLimits* limits);
  bool verify(const Origin& here, const std::vector<Array>& before, std::span<const TensorView> results, const CallLimits* limits);

  const Prepared& prepared_;
  const Graph& graph_;
  const HostOperations operations_;
  const Transports& transports_;
  HostEnd& end_;
  std::vector<TensorView> views_;
  std::vector<std::uint8_t> kept_;  ///< one flag for each of views_: a constant, or a parameter with the program's own data

  const RunOptions* options_ = nullptr;
  OpContext context_;
  Observation observation_;
  SampleClock sample_clock_;
};

}  // namespace cleave::runtime
