// Loops and branches that a device decides and runs as one command.
#pragma once

#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

/// Prepares the outermost loops and branches that the device may run so. Does nothing on a device that cannot.
void prepare_controls(const Prepared& prepared, DeviceId id, DeviceCommands& commands);

}  // namespace cleave::runtime
