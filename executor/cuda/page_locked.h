// Arrays in memory that the driver has locked. They outlive the devices that copy from them: each holds its GPU's context.
#pragma once

#include <memory>

#include "executor/cuda/context.h"
#include "graph/array/array.h"

namespace cleave::runtime::cuda {

/// Zeros in memory that the GPU of `context` reaches. An Error (machine) where there is no room.
Result<Array> page_locked(std::shared_ptr<Context> context, TensorType type);

}  // namespace cleave::runtime::cuda
