// The table of back ends, and which of them a `device` of the command line or of CompileOptions names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executor/device/back_end.h"
#include "graph/base/result.h"
#include "partitioner/machine/machine.h"

namespace cleave::runtime {

/// One row a kind of accelerator, in the order in which `auto` prefers them; the last is `none`, work on the host alone.
std::vector<BackEnd> back_ends();

/// The row that `device` names (auto, none, simulated, cuda[:N]) with `options`. `auto` is a GPU where one is usable, else the simulated
/// accelerator. An Error (usage) for anything else and for options that mean nothing to the device, (machine) for one that cannot be had.
Result<ExecutorSetup> choose_device(std::string_view device, const ExecutorOptions& options = {});
/// "host", "simulated", "cuda:0".
std::string device_name(const ExecutorSetup& setup);

/// Where `cleave calibrate` leaves the machine file for that back end: $XDG_CONFIG_HOME/cleave (~/.config/cleave). Empty where there is no
/// such place.
std::string calibrated_machine_file(const BackEnd& back_end);
/// The machine that `wanted` names (a shipped one, or a machine file). Empty: the calibrated one where there is one and time is not
/// simulated, else the one of the back end.
Result<Machine> choose_machine(const std::string& wanted, const BackEnd& back_end);

}  // namespace cleave::runtime
