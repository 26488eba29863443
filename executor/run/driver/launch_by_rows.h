// Launches an operation for ranges of rows, each behind the chunks of incoming values that it reads (prepare/device_rows.h).
#pragma once

#include "executor/run/commands/command_queue.h"
#include "executor/run/prepare/device_commands.h"

namespace cleave::runtime {

/// False: a launch failed, which is reported.
bool launch_by_rows(CommandQueue& queue, const DeviceCommands::Turn& commands, const RowOperation& operation, const Origin& here);

}  // namespace cleave::runtime
