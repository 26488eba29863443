// HostCalls: calls of host functions that run beside the host's steps (planner::beside), until a step accesses their memory, an effect
// comes, or their block ends. They run on workers (calls.h), or are begun here and completed by the holder of their token. Dependences are
// found by memory as well as by value: a step that would write to memory that a call reads waits for the call, independently of the memory
// plan.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executor/run/clock/virtual_workers.h"
#include "executor/run/driver/calls.h"
#include "executor/run/driver/host_kernels.h"
#include "executor/run/driver/run_arrays.h"

namespace cleave::runtime {

class HostCalls {
 public:
  HostCalls(const Prepared& prepared, HostKernels& kernels, RunArrays& arrays, HostEnd& end, Calls& workers,
            VirtualWorkers& virtual_workers);

  /// Must be called before each run.
  void begin();
  /// Must be called after the walk, however it ended: waits until no call is pending.
  void end();

  [[nodiscard]] bool runs_beside(NodeId id) const { return calls_of_[id] != nullptr; }
  /// Starts the call of the node at `here`. False: it failed, which is reported.
  bool start(const Origin& here);

  // Each waits for the calls that concern the caller. False: one of them failed, or is not wanted any more.
  /// Before a step computes: until its operands are complete, until no call uses the memory that it writes, and, before an effect, until no
  /// earlier call can fail.
  bool settle_step(const Node& node, NodeId id);
  /// Until the value is complete, or until no call uses its memory.
  bool settle(ValueId value, bool writes) { return under_way_.empty() || settle_storage(plan_.storage_of[value], writes); }
  bool settle(std::span<const ValueId> values, bool writes) {
    return under_way_.empty() || std::all_of(values.begin(), values.end(), [&](ValueId value) { return settle(value, writes); });
  }
  bool settle_storage(StorageIndex storage, bool writes);
  /// Until all calls of the block at `here` are over.
  bool end_block(const Origin& here);

 private:
  struct BesideCall : Calls::Call {
    bool pends = false;                ///< asynchronous: completed by the user's code instead of a worker
    std::optional<BegunCall> pending;  ///< an asynchronous call that has begun
    int lane = 0;                      ///< of the timeline: differs from those of all other calls under way
    double virtual_begin = 0, virtual_end = 0;
  };
  void time_virtually(BesideCall& call);
  [[nodiscard]] int free_lane() const;
  Status run_on_worker(const Calls::Call& call);
  bool begin_pending(BesideCall& call);
  void end_pending(BesideCall& call);
  bool end_call(BesideCall& call);
  template <class Condition>
  bool end_calls_if(const Condition& concerned);
  [[nodiscard]] bool touches(const BesideCall& call, const std::byte* data, std::int64_t bytes, bool writes) const;

  const Prepared& prepared_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  HostKernels& kernels_;
  RunArrays& arrays_;
  HostEnd& end_;
  IdVector<NodeId, std::unique_ptr<BesideCall>> calls_of_;  ///< null: the node's call, if any, runs in program order
  Calls& calls_;
  VirtualWorkers& virtual_workers_;
  std::vector<BesideCall*> under_way_;  ///< in program order
};

}  // namespace cleave::runtime
