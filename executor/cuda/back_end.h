// The door to the CUDA room, for those who know no CUDA header: its record. In a build without the toolkit's headers it says so.
#pragma once

#include "executor/device/back_end.h"

namespace cleave::runtime::cuda {

BackEnd back_end();
/// The record's `fuses`: whether there is one kernel for a request of several steps.
bool fuses(const KernelRequest& request);

}  // namespace cleave::runtime::cuda
