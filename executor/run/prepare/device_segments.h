// Segments: ranges of a device's step lists that it runs as one command, once for each turn in which any of their storages differs.
#pragma once

#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

/// Does nothing on a device without segments. Must be called last: a segment waits for all that its kernels wait for, and leaves out the
/// operations that are launched in another way.
void prepare_segments(const Prepared& prepared, DeviceId id, DeviceCommands& commands);

}  // namespace cleave::runtime
