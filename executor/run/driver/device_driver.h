// DeviceDriver: drives one accelerator, on a thread of its own: at each step of the device's program it enqueues commands, and it waits
// only for the host's values and decisions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "executor/report/observation.h"
#include "executor/run/commands/command_queue.h"
#include "executor/run/driver/device_contents.h"
#include "executor/run/driver/walk.h"
#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class DeviceDriver final : public Worker {
 public:
  /// Prepares the device's commands and its end of the transports.
  static Result<std::unique_ptr<DeviceDriver>> create(Prepared& prepared, Transports& transports, DeviceId id);

  /// Must be called before each run. `leaves` has the arrays of inputs and parameters that have a copy on this device. The values of
  /// `resident` nodes have stayed on the device since the previous run.
  Status begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident);
  /// On the driver thread: runs the whole program and waits until the device is idle. If the device holds states, the run goes on until
  /// they are taken over. `start` is the timeline's zero.
  void drive(RunState::Clock::time_point start);

  [[nodiscard]] CommandQueue& queue() { return queue_; }
  [[nodiscard]] DeviceContents& contents() { return contents_; }
  /// The observed outcomes of loops and branches that the device decided.
  [[nodiscard]] const Observation& observation() const { return observation_; }

  bool compute(const Step& step, const Origin& here, std::int64_t trip) override;
  bool transfer(const Step& step, const Origin& here) override;
  bool move(const std::vector<Move>& moves, const Origin& here) override;
  void rotate(const DoubleBuffers& double_buffers, std::int64_t trips) override;
  bool settle(const DoubleBuffers& double_buffers, const Origin& here) override;
  bool discard(const std::vector<StorageIndex>& dead, const Origin& here) override;
  std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) override;
  [[nodiscard]] bool runs_whole(const Step& step) const override;
  bool run_whole(const Step& step, const Origin& here) override;
  void enter(NodeId control) override;
  void outcome(NodeId control, std::int64_t value) override;

 private:
  DeviceDriver(Prepared& prepared, Transports& transports, DeviceId id, DeviceCommands commands);
  bool launch(const Node& node, const Origin& here);
  bool verify(const Node& node, const Origin& here);

  Prepared& prepared_;
  Transports& transports_;
  const Graph& graph_;
  Device& device_;
  const MemoryPlan& plan_;
  const DeviceCommands commands_;
  CommandQueue queue_;
  DeviceContents contents_;

  bool verify_ = false, observes_ = false;
  std::function<void(std::string_view, double)> on_verify_;
  RunProgress* progress_ = nullptr;
  Observation observation_;
};

}  // namespace cleave::runtime
