// Prepared: what all parts of a run know of one Program: memory planned, devices open, host functions bound, costs known. Fixed once made,
// except for the control streams and the caller's arrays, which each run resets.
#pragma once

#include <memory>
#include <vector>

#include "executor/arguments/bindings.h"
#include "executor/arguments/caller_memory.h"
#include "executor/check/find_nan.h"
#include "executor/check/verify_node.h"
#include "executor/device/back_end.h"
#include "executor/device/device.h"
#include "executor/device/workers.h"
#include "executor/memory/fusion.h"
#include "executor/memory/memory_plan.h"
#include "executor/run/transport/chunks.h"
#include "executor/run/transport/control_stream.h"
#include "executor/runtime.h"
#include "partitioner/apply/step_costs.h"

namespace cleave {
class SharedConstants;
}

namespace cleave::runtime {

struct Prepared {
  std::shared_ptr<const Program> program;
  BoundAttributes bound;
  std::shared_ptr<Workers> workers;            ///< for the host's kernels
  std::shared_ptr<SharedConstants> constants;  ///< null: the program shares nothing
  StepCosts costs;                             ///< the plan's costs, which the virtual clock replays
  IdVector<DeviceId, Fusion> fusions;
  IdVector<DeviceId, MemoryPlan> plans;
  IdVector<DeviceId, std::unique_ptr<Device>> devices;       ///< null: the host, or a device without work
  IdVector<DeviceId, ControlStream> controls;                ///< streams of the host's decisions
  IdVector<DeviceId, IdVector<NodeId, std::uint8_t>> walks;  ///< whether a device walks a control node
  IdVector<ChannelId, int> depths;                           ///< the values that each channel holds at once
  IdVector<ChannelId, std::uint8_t> by_mailbox;              ///< whether a channel's values go through a mailbox; else through a ring
  Chunks chunks;
  PrecisionOf precision;            ///< of the accelerator's matrix products; null: f32
  double patience = 0;              ///< timeout in seconds of an asynchronous host function without a deadline of its own
  bool virtual_time = false;        ///< times are those of the virtual clock, which replays `costs`
  CallerMemory caller_memory;       ///< of the run in progress
  NanSearch* nan_search = nullptr;  ///< of a run that looks for a NaN; it runs in verify mode

  [[nodiscard]] const Graph& graph() const { return *program->graph; }
  [[nodiscard]] const Attributes& attributes(NodeId node) const { return attributes_of(graph(), bound, node); }
  [[nodiscard]] const Channel& channel(ChannelId id) const { return program->channels[id]; }
};

/// Plans memory, opens devices, loads host functions. An Error says what is missing or does not fit.
Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const StepCosts& costs, const ExecutorSetup& setup);

}  // namespace cleave::runtime
