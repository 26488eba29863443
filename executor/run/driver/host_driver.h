// HostDriver: executes the steps of the host's program on the caller's thread: kernels on the host's arena, decisions for itself and for
// the devices that it drives, and the host's end of the transports.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "executor/run/driver/host_calls.h"
#include "executor/run/driver/host_kernels.h"
#include "executor/run/driver/host_overlap.h"
#include "executor/run/driver/outputs.h"
#include "executor/run/driver/producers.h"
#include "executor/run/driver/run_arrays.h"
#include "executor/run/driver/walk.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class HostDriver final : public Worker {
 public:
  /// Allocates the host's arena; an Error if memory is short. Outputs are handed in to `outputs` as the host reaches them.
  static Result<std::unique_ptr<HostDriver>> create(Prepared& prepared, HostOperations operations, Transports& transports,
                                                    Outputs& outputs);

  /// Must be called before each run. `options` must outlive the run. An Error if memory for its results is short.
  Status begin(RunState& run, const RunOptions& options, std::map<NodeId, Array> leaves, bool virtual_time);

  /// Must be called after the walk, however it ended: waits until nothing runs beside the host's thread.
  void end_walk();

  [[nodiscard]] HostClock& clock() { return end_.clock; }
  [[nodiscard]] RunArrays& arrays() { return arrays_; }
  [[nodiscard]] StepCollector& steps() { return steps_; }
  [[nodiscard]] const Observation& observation() { return kernels_.observation(); }

  bool compute(const Step& step, const Origin& here, std::int64_t trip) override;
  bool transfer(const Step& step, const Origin& here) override;
  bool move(const std::vector<Move>& moves, const Origin& here) override;
  bool end_block(const Origin& here) override { return calls_.end_block(here); }
  bool begin_loop(const Step& loop, const Origin& here, std::int64_t count) override;
  std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) override;
  void enter(NodeId control) override;
  void outcome(NodeId control, std::int64_t value) override;
  bool leave(const Step& control, const Origin& here) override;

 private:
  HostDriver(Prepared& prepared, HostOperations operations, Transports& transports, Outputs& outputs);
  bool run(const Step& step, const Origin& here, std::int64_t trip, double& waited);
  bool hand_in(ValueId value, const Origin& here);

  Prepared& prepared_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  Transports& transports_;
  Outputs& outputs_;
  HostEnd end_;
  StepCollector steps_;
  RunArrays arrays_;
  HostKernels kernels_;
  HostOverlap overlap_;
  Calls workers_;
  VirtualWorkers virtual_workers_;
  HostCalls calls_;
  Producers producers_;
};

}  // namespace cleave::runtime
