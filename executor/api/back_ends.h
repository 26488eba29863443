// The table of back ends, and the choice of one by a `device` name from the command line or CompileOptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executor/device/back_end.h"
#include "graph/base/result.h"
#include "partitioner/machine/machine.h"

namespace cleave::runtime {

/// One row for each kind of accelerator, in the order in which `auto` prefers them; the last is `none`, for work on the host alone.
std::vector<BackEnd> back_ends();

/// The row that `device` names (auto, none, simulated, cuda[:N]) with `options`. `auto` is a GPU if one is usable, else the simulated
/// accelerator. An Error (usage) for any other name and for options that do not apply to the device, (machine) for a device that is not
/// available.
Result<ExecutorSetup> choose_device(std::string_view device, const ExecutorOptions& options = {});
/// The device's name: "host", "simulated", "cuda:0".
std::string device_name(const ExecutorSetup& setup);

/// The path to which `cleave calibrate` writes the machine file for that back end, in $XDG_CONFIG_HOME/cleave (~/.config/cleave). Empty if
/// there is no such folder.
std::string calibrated_machine_file(const BackEnd& back_end);
/// The machine that `wanted` names (a shipped one, or a machine file). If `wanted` is empty: the calibrated one if there is one and time is
/// not simulated, else the back end's.
Result<Machine> choose_machine(const std::string& wanted, const BackEnd& back_end);

}  // namespace cleave::runtime
