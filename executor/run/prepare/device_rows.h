// Launches by rows: the first operation of a device that reads a large incoming value is launched for ranges of rows, each behind the copy
// of the last chunk that it reads.
#pragma once

#include "executor/run/prepare/device_commands.h"
#include "executor/run/prepare/open_transports.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

/// Prepares a kernel for each launch of such operations, and lets the transports of their values watch the chunks.
Status prepare_rows(const Prepared& prepared, DeviceId id, const Transports& transports, DeviceCommands& commands);

}  // namespace cleave::runtime
