// DeviceClasses: the nodes that must be placed together, with the devices that may hold them. The state of every search is one set of
// devices a class.
#pragma once

#include <vector>

#include "partitioner/devices/device_problem.h"

namespace cleave::planner {

struct DeviceClasses {
  std::vector<std::int32_t> class_of;             ///< per node
  std::vector<std::vector<std::int32_t>> nodes;   ///< per class
  std::vector<DeviceSet> allowed;                 ///< per class; never empty
  std::vector<std::uint8_t> replicable;           ///< per class: may have several copies
  std::vector<double> bytes;                      ///< per class, on an accelerator
  std::vector<std::vector<std::int32_t>> values;  ///< per class: the values that it produces or reads

  [[nodiscard]] std::size_t size() const { return nodes.size(); }
  [[nodiscard]] std::vector<DeviceSet> per_node(const std::vector<DeviceSet>& on) const;
};

/// An Error if pins of a group contradict each other, or no device can hold a group.
Result<DeviceClasses> device_classes(const DeviceProblem& problem);

/// Bytes per device of the copies of all classes; 0 for the host.
std::vector<double> bytes_on_devices(const DeviceProblem& problem, const DeviceClasses& classes, const std::vector<DeviceSet>& on);
/// Whether every accelerator's memory holds its copies.
bool fits(const DeviceProblem& problem, const DeviceClasses& classes, const std::vector<DeviceSet>& on);

/// An Error if some class that must be on an accelerator fits into no memory, or all such classes together do not.
Status check_memory(const DeviceProblem& problem, const DeviceClasses& classes);

}  // namespace cleave::planner
