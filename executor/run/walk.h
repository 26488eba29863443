// Walk: one device's way through its step lists: loops, branches and program order. What a step does there is the Worker's business; the
// host and every accelerator driver walk by this same code, so that they cannot disagree on where they are.
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

/// What one device does at each step. False, or nothing, ends the walk: an error here has been told to the RunState.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual bool compute(const Step& step, const Origin& here, std::int64_t trip) = 0;  ///< `trip` of the innermost loop
  virtual bool send(const Step& step, const Origin& here) = 0;
  virtual bool receive(const Step& step, const Origin& here) = 0;
  virtual bool move(const std::vector<Move>& moves, const Origin& here) = 0;
  /// `trips` trips of a loop are done, and its storages have taken turns.
  virtual void rotate(const Rotation& rotation, std::int64_t trips) = 0;
  /// The loop ends: what it leaves is brought where the plan has it.
  virtual bool settle(const Rotation& rotation, const Origin& here) = 0;
  /// The end of a block's steps: nothing that was started there is under way any more.
  virtual bool end_block(const Origin& /*here*/) { return true; }
  virtual bool discard(const std::vector<StorageIndex>& dead, const Origin& here) = 0;
  /// The predicate or the runtime count of the control node `here`.
  virtual std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) = 0;
  /// Whether the device runs the control step, which it decides by itself, with all that is inside as one command: `run_whole`, behind the
  /// step's entry. Otherwise it is walked.
  [[nodiscard]] virtual bool runs_whole(const Step&) const { return false; }
  virtual bool run_whole(const Step&, const Origin& /*here*/) { return false; }
  /// A trip of a loop begins, or a branch was decided.
  virtual void enter(NodeId control) = 0;
  /// A loop ended after so many trips; a branch took `then` (1) or not (0).
  virtual void outcome(NodeId control, std::int64_t value) = 0;
  /// The loop or branch is behind us; what it leaves is there.
  virtual bool leave(const Step& control, const Origin& here) = 0;
};

/// True if the program was walked to its end. `progress`, unless null, is told how far the outermost loops are.
bool walk(const Program& program, DeviceId device, const MemoryPlan& plan, RunState& run, Worker& side, RunProgress* progress);

}  // namespace cleave::runtime
