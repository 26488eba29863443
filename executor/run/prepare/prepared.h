// Prepared: one Program made ready to run: memory planned, channels and devices open, host functions bound, costs known. Fixed once made,
// except for the state of rings and control streams and the caller's arrays, which each run resets.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "executor/arguments/bindings.h"
#include "executor/arguments/caller_memory.h"
#include "executor/check/verify_node.h"
#include "executor/device/back_end.h"
#include "executor/device/device.h"
#include "executor/device/workers.h"
#include "executor/memory/memory_plan.h"
#include "executor/run/transport/control_stream.h"
#include "executor/run/transport/exchange.h"
#include "executor/run/transport/ring.h"
#include "executor/runtime.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::runtime {

struct Prepared {
  std::shared_ptr<const Program> program;
  BoundAttributes bound;
  std::shared_ptr<Workers> workers;  ///< for the host's kernels
  StepCosts costs;                   ///< the plan's costs, which the virtual clock replays
  IdVector<DeviceId, Fusion> fusions;
  IdVector<DeviceId, MemoryPlan> plans;
  IdVector<DeviceId, std::unique_ptr<Device>> devices;       ///< null: the host, or a device without work
  IdVector<DeviceId, ControlStream> controls;                ///< streams of the host's decisions
  IdVector<DeviceId, IdVector<NodeId, std::uint8_t>> walks;  ///< whether a device walks a control node
  std::vector<Ring> rings;
  IdVector<ChannelId, std::size_t> ring_of;                ///< coalesced channels have one ring
  IdVector<ChannelId, std::optional<Exchange>> exchanges;  ///< replaces the ring if set: at the first of coalesced channels
  IdVector<ChannelId, std::uint8_t> read_in_slot;          ///< channels whose values the host reads in the slot
  IdVector<ChannelId, std::uint8_t>
      read_in_parts;            ///< channels whose values the host processes while they arrive (overlap.h); set by the host's side
  std::int64_t part_bytes = 0;  ///< larger values are staged and copied in chunks of this many bytes
  PrecisionOf precision;        ///< of the accelerator's matrix products; null: f32
  double patience = 0;          ///< timeout in seconds of an asynchronous host function without a deadline of its own
  bool virtual_time = false;    ///< times are those of the virtual clock, which replays `costs`
  CallerMemory caller_memory;   ///< of the run in progress

  [[nodiscard]] const Graph& graph() const { return *program->graph; }
  [[nodiscard]] const Attributes& attributes(NodeId node) const { return attributes_of(graph(), bound, node); }
  [[nodiscard]] const Channel& channel(ChannelId id) const { return program->channels[id]; }
  /// The number of chunks in which a value is staged and copied; a coalesced transfer is one chunk.
  [[nodiscard]] std::size_t parts(std::int64_t bytes) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, (bytes + part_bytes - 1) / part_bytes));
  }
  /// The byte range of a chunk in its value.
  [[nodiscard]] Range part(std::size_t number, std::int64_t bytes) const {
    const std::int64_t offset = static_cast<std::int64_t>(number) * part_bytes;
    return {offset, std::min(part_bytes, bytes - offset)};
  }
  [[nodiscard]] Ring& ring(ChannelId id) { return rings[ring_of[id]]; }
};

/// Plans memory, opens devices and channels, loads host functions. An Error says what is missing or does not fit.
Result<std::unique_ptr<Prepared>> prepare(std::shared_ptr<const Program> program, const StepCosts& costs, const ExecutorSetup& setup);

}  // namespace cleave::runtime
