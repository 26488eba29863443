// RoundingRequest: the kernel request for a copy of floating-point elements in a narrower type, for products with rounded operands. It
// looks like an operation of the program.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// Converts the f32 elements at `from`, in their order, to the type `narrow`. The destination is left open.
struct RoundingRequest {
  RoundingRequest(NodeId node, const Range& from, DType narrow);
  RoundingRequest(const RoundingRequest&) = delete;
  RoundingRequest& operator=(const RoundingRequest&) = delete;

  const Attributes attributes;
  const KernelRequest request;  ///< refers to `attributes`
};

}  // namespace cleave::runtime::cuda
