// PreparedLaunch: one launch of a compiled kernel with its parameters, into a stream or as the node of a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/cuda/context.h"

namespace cleave::runtime::cuda {

struct PreparedLaunch {
  CUfunction function = nullptr;
  KernelLaunch shape;
  std::vector<std::uint64_t> values;
  int scratch = -1, ticket = -1;  ///< index into `values`; -1: the kernel takes none
  std::int64_t scratch_offset = 0;
};

/// The array of pointers to a launch's parameters, as the driver takes it; the driver copies the parameters before it returns.
struct LaunchParameters {
  LaunchParameters(const PreparedLaunch& launch, std::uint64_t& ticket);
  void* all[256];
};

Status enqueue(const Context& context, const PreparedLaunch& launch, CUstream stream, std::uint64_t ticket);
CUDA_KERNEL_NODE_PARAMS as_node(const PreparedLaunch& launch, LaunchParameters& parameters);

}  // namespace cleave::runtime::cuda
