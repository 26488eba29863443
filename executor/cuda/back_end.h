// The CUDA back end's record: `back_end()`, for code that includes no CUDA header. In a build without the toolkit's headers the record says
// that CUDA is absent.
#pragma once

#include "executor/device/back_end.h"

namespace cleave::runtime::cuda {

struct Libraries;

BackEnd back_end();
/// The same record with these optional libraries. Only in a build with the toolkit's headers.
BackEnd back_end(std::shared_ptr<const Libraries> libraries);
/// The record's `fuses`: true if one kernel exists for a request of several steps.
bool fuses(const KernelRequest& request);

}  // namespace cleave::runtime::cuda
