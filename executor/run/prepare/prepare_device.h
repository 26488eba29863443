// Prepares the commands of one device for all runs.
#pragma once

#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

/// Allocates the device's arena, uploads its constants, and prepares its commands and its end of the transports. An Error (machine) if
/// memory is short, or if a kernel cannot be prepared.
Result<DeviceCommands> prepare_device(const Prepared& prepared, DeviceId id, Transports& transports);

}  // namespace cleave::runtime
