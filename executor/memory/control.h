// Control: describes a loop or branch that a device decides by itself, with its contents, as a tree of device steps and storage ranges. Its
// one door is find_control. Independent of devices.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "executor/device/controls.h"
#include "executor/memory/memory_plan.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// The description of the control step `step` of block `block`.
struct FoundControl {
  DeviceControl control;
  std::set<std::size_t> blocks;  ///< the blocks inside
  std::vector<NodeId> nodes;     ///< operations inside, in order
};

/// The kernel of an operation: invalid if the operation runs in the kernel of a later one; nothing if the device cannot run it inside a
/// control step.
using KernelOf = std::function<std::optional<DeviceStep>(NodeId)>;

/// Nothing if the driver must walk the step instead: an operation cannot run inside, or an inner loop's trip count is known only on the
/// device.
std::optional<FoundControl> find_control(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t block,
                                         std::size_t step, const KernelOf& kernel_of);

}  // namespace cleave::runtime
