// Control: a loop or branch that a device decides by itself, as a tree of what is inside, from the step list and where values lie. Knows no
// device.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "executor/device/device.h"
#include "executor/memory/memory_plan.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// What is found of the control step `step` in block `block`.
struct FoundControl {
  DeviceControl control;
  std::set<std::size_t> blocks;  ///< that are inside
  std::vector<NodeId> nodes;     ///< operations inside, in order
};

/// The kernel of an operation: invalid where it runs with a later one; nothing where it cannot be inside.
using KernelOf = std::function<std::optional<DeviceStep>(NodeId)>;

/// Nothing where something inside has to be walked: an operation that cannot be inside, or a count that is known only there.
std::optional<FoundControl> find_control(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t block,
                                         std::size_t step, const KernelOf& kernel_of);

}  // namespace cleave::runtime
