// linear_orders(): several orders of the groups of a problem along its dataflow. A planner that cuts an order into pieces depends on the
// order, and none is the best for all graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/device_classes.h"

namespace cleave::planner {

/// Orders of the classes: by depth first, breadth first, backward from the results, by closing open values, and with random ties; each
/// once by the first and once by the last node of a class. In a training step a class that holds a forward operation and its backward
/// operations is ordered by the forward one in the former. `random`: the number of orders with random ties in each direction. Equal input
/// gives equal orders.
std::vector<std::vector<std::int32_t>> linear_orders(const DeviceProblem& problem, const DeviceClasses& classes, std::uint64_t random = 3);

}  // namespace cleave::planner
