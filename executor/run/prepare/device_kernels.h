// Kernels of a device's operations, once for each turn of the loops with rotating buffers.
#pragma once

#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

/// Prepares the kernels, and uploads the constants, which stay on the device.
Status prepare_kernels(const Prepared& prepared, DeviceId id, DeviceCommands& commands);

/// The request for the kernel of an operation, or of the group of which it is the last, on the memory of `work`.
KernelRequest device_request(const Prepared& prepared, DeviceId id, NodeId node, const Work& work);

/// Finds the last command of a trip that accesses an incoming value in rotating buffers: the copy of a later trip waits for that command,
/// and for no other.
void find_awaited(const Prepared& prepared, DeviceId id, DeviceCommands& commands);

}  // namespace cleave::runtime
