// Copies of floating-point elements in a narrower type, for products that take their operands so: the request of that, as if it were an
// operation of the program.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// The elements at `from`, of f32, in their order, in the type `narrow`; where to is not said.
struct RoundingRequest {
  RoundingRequest(NodeId node, const Range& from, DType narrow);
  RoundingRequest(const RoundingRequest&) = delete;
  RoundingRequest& operator=(const RoundingRequest&) = delete;

  const Attributes attributes;
  const KernelRequest request;  ///< of the attributes here
};

}  // namespace cleave::runtime::cuda
