#include "executor/cuda/prepared_launch.h"

#include <iterator>
#include <tuple>

namespace cleave::runtime::cuda {

LaunchParameters::LaunchParameters(const PreparedLaunch& launch, std::uint64_t& ticket) {
  CLEAVE_CHECK(launch.values.size() <= std::size(all), "a kernel with too many parameters");
  for (std::size_t i = 0; i < launch.values.size(); ++i) all[i] = const_cast<std::uint64_t*>(&launch.values[i]);
  if (launch.ticket >= 0) all[launch.ticket] = &ticket;
}

Status enqueue(const Context& context, const PreparedLaunch& launch, CUstream stream, std::uint64_t ticket) {
  const auto& [grid, block] = std::tie(launch.shape.grid, launch.shape.block);
  return context.check("cuLaunchKernel",
                       context.api().cuLaunchKernel(launch.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                                    launch.shape.shared_bytes, stream, LaunchParameters(launch, ticket).all, nullptr));
}

CUDA_KERNEL_NODE_PARAMS as_node(const PreparedLaunch& launch, LaunchParameters& parameters) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = launch.function;
  const auto& [grid, block] = std::tie(launch.shape.grid, launch.shape.block);
  node.gridDimX = grid[0], node.gridDimY = grid[1], node.gridDimZ = grid[2];
  node.blockDimX = block[0], node.blockDimY = block[1], node.blockDimZ = block[2];
  node.sharedMemBytes = launch.shape.shared_bytes;
  node.kernelParams = parameters.all;
  return node;
}

}  // namespace cleave::runtime::cuda
