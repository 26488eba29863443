// Arrays in memory that the driver has locked. They outlive the devices that copy from them: each holds the GPU's primary context.
#pragma once

#include "executor/cuda/driver_api.h"
#include "graph/array/array.h"

namespace cleave::runtime::cuda {

Result<Array> page_locked(const DriverApi& api, TensorType type, int ordinal);

}  // namespace cleave::runtime::cuda
