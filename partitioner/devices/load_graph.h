// LoadGraph: a DeviceProblem for throughput. Runs follow each other, and the busiest device decides how many there are in a second. Groups
// of nodes have work on each device, and a value costs its producer's accelerator an outgoing transfer and each other accelerator that
// reads it an incoming one. LoadState is an assignment of groups to devices with its loads, and changes them group by group.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/device_classes.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

struct LoadGraph {
  struct GroupValue {
    std::int32_t producer = 0;            ///< a group
    std::vector<std::int32_t> consumers;  ///< other groups, ascending
    std::vector<double> in, out;          ///< per device: seconds a run of a transfer to it, and from it; 0 for the host
  };
  std::size_t devices = 0;
  bool equal = true;                                ///< all accelerators have the same work, prices and memory
  std::vector<std::vector<double>> work;            ///< per device and group, in seconds a run; infinite where it may not be
  std::vector<double> bytes;                        ///< per group
  std::vector<double> room;                         ///< per device: bytes; infinite for the host
  std::vector<GroupValue> values;                   ///< values with the same producer and the same consumers are one
  std::vector<std::vector<std::int32_t>> produced;  ///< per group
  std::vector<std::vector<std::int32_t>> consumed;  ///< per group

  [[nodiscard]] std::size_t groups() const { return bytes.size(); }
};

/// A transferred value is priced by the cheapest set of transfers that reaches all of its uses.
LoadGraph load_graph(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses);

class LoadState {
 public:
  LoadState(const LoadGraph& graph, std::vector<std::int32_t> device_of);
  /// Assigns a group to a device.
  void move(std::int32_t group, std::int32_t to);
  [[nodiscard]] bool has_room(std::int32_t group, std::int32_t to) const { return bytes_[to] + graph_->bytes[group] <= graph_->room[to]; }
  [[nodiscard]] double busiest() const;
  [[nodiscard]] bool fits() const;
  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }
  [[nodiscard]] const std::vector<std::int32_t>& device_of() const { return device_of_; }

 private:
  std::int32_t& readers(std::int32_t value, std::int32_t device) {
    return readers_[static_cast<std::size_t>(value) * graph_->devices + device];
  }

  const LoadGraph* graph_;
  std::vector<std::int32_t> device_of_;  ///< per group
  std::vector<double> loads_, bytes_;    ///< per device
  std::vector<std::int32_t> readers_;    ///< per value and device: its consumers there
};

}  // namespace cleave::planner
