// The door to the CUDA room, for those who know no CUDA header: its record. In a build without the toolkit's headers it says so.
#pragma once

#include "executor/device/back_end.h"

namespace cleave::runtime::cuda {

struct Libraries;

BackEnd back_end();
/// With these libraries, of those that it can do without. Only in a build with the toolkit's headers.
BackEnd back_end(std::shared_ptr<const Libraries> libraries);
/// The record's `fuses`: whether there is one kernel for a request of several steps.
bool fuses(const KernelRequest& request);

}  // namespace cleave::runtime::cuda
