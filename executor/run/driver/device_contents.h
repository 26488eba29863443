// DeviceContents: moves arrays to and from a device's storages outside of transports: the inputs and parameters before a run, the values
// that the driver looks at during one, and the states that stay on the device from run to run. Used on the driver's thread, but for
// upload().
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "executor/run/commands/command_queue.h"
#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class DeviceContents {
 public:
  DeviceContents(const Prepared& prepared, const DeviceCommands& commands, CommandQueue& queue);
  /// Must be called before fetch(), decision() and read(). An Error (machine) if page-locked memory is short.
  Status make_room();

  /// Right after the device has begun a run: fills the storages of inputs and parameters, except those that are `resident` since the
  /// previous run.
  Status upload(const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident);
  /// During a run: copies the contents of `values` to the host, for the step at `here`; nullopt if that failed.
  std::optional<std::vector<Array>> fetch(const std::vector<ValueId>& values, const Origin& here);
  /// Reads the device's own predicate or trip count. The driver enqueues nothing meanwhile. On the virtual clock this takes no time, since
  /// a device that decides by itself asks no other side.
  std::optional<std::int64_t> decision(NodeId control, ValueId value, const Origin& here);
  /// Between runs: reads a value that stays on the device.
  Result<Array> read(ValueId value);

  /// Whether `value` is a state that stays on this device.
  [[nodiscard]] bool keeps(ValueId value) const;
  [[nodiscard]] bool keeps_states() const { return !commands_.states.empty(); }
  /// Ends a run after which the device keeps states: copies their next values to their storages, unless the run failed.
  Status take_over_states(bool went_well);

 private:
  const Prepared& prepared_;
  const Graph& graph_;
  const DeviceCommands& commands_;
  CommandQueue& queue_;
  Device& device_;
  const MemoryPlan& plan_;
  std::byte* room_ = nullptr;  ///< page-locked, for one value at a time
};

}  // namespace cleave::runtime
