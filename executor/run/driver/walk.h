// Walk: traverses one device's step lists: loops, branches and program order. The Worker executes each step; the host and every accelerator
// driver use this same traversal, so that their positions cannot differ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/device/position.h"
#include "executor/device/run_state.h"
#include "executor/memory/memory_plan.h"
#include "executor/report/progress.h"
#include "executor/runtime.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// The actions of one device at each step. Returning false, or nullopt, ends the walk: an error of the step has been reported to the
/// RunState.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual bool compute(const Step& step, const Origin& here, std::int64_t trip) = 0;  ///< `trip` of the innermost loop
  virtual bool transfer(const Step& step, const Origin& here) = 0;                    ///< sends or receives
  virtual bool move(const std::vector<Move>& moves, const Origin& here) = 0;
  /// Called after `trips` trips of a loop with rotating buffers, whose storages have then moved on by as many turns.
  virtual void rotate(const DoubleBuffers& /*double_buffers*/, std::int64_t /*trips*/) {}
  /// Called at the end of the loop: moves the values that leave it to their planned storages.
  virtual bool settle(const DoubleBuffers& /*double_buffers*/, const Origin& /*here*/) { return true; }
  /// Called at the end of a block's steps: waits for all work that was started there.
  virtual bool end_block(const Origin& /*here*/) { return true; }
  /// Called after a step, with the storages whose contents are not read any more.
  virtual bool discard(const std::vector<StorageIndex>& /*dead*/, const Origin& /*here*/) { return true; }
  /// Returns the predicate or the runtime trip count of the control node `here`.
  virtual std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) = 0;
  /// Whether the device runs this control step, which it decides by itself, with its whole body as one command: `run_whole`, called after
  /// the entry of the step. Otherwise its steps are walked.
  [[nodiscard]] virtual bool runs_whole(const Step&) const { return false; }
  virtual bool run_whole(const Step&, const Origin& /*here*/) { return false; }
  /// Called before the first trip of a `for`, which makes at least one and at most `count`.
  virtual bool begin_loop(const Step& /*loop*/, const Origin& /*here*/, std::int64_t /*count*/) { return true; }
  /// Called when a trip of a loop begins, or a branch was decided.
  virtual void enter(NodeId control) = 0;
  /// Called when a loop has ended after `value` trips, or when a branch has taken `then` (1) or `else` (0).
  virtual void outcome(NodeId control, std::int64_t value) = 0;
  /// Called after the loop or branch, when its results are available.
  virtual bool leave(const Step& /*control*/, const Origin& /*here*/) { return true; }
};

/// True if the program was walked to its end. A non-null `progress` is told the progress of the outermost loops.
bool walk(const Program& program, DeviceId device, const MemoryPlan& plan, RunState& run, Worker& worker, RunProgress* progress);

}  // namespace cleave::runtime
