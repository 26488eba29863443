// Arrays in page-locked memory. Each shares ownership of its GPU's context, so that it may outlive the devices that copy from it.
#pragma once

#include <memory>

#include "executor/cuda/context.h"
#include "graph/array/array.h"

namespace cleave::runtime::cuda {

/// An array of zeros in page-locked memory that the GPU of `context` can read. An Error (machine) if there is not enough memory.
Result<Array> page_locked(std::shared_ptr<Context> context, TensorType type);

}  // namespace cleave::runtime::cuda
