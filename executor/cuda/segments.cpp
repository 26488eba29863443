// CudaDevice's segments: which kernels may be part of one, and the CUDA graph of each.
#include <algorithm>

#include "executor/cuda/cuda_device.h"

namespace cleave::runtime::cuda {
namespace {

/// Stands for the shared scratch memory, beyond any arena: every step that uses scratch memory counts as writing it.
constexpr Range kScratch{std::int64_t{1} << 62, 1};

}  // namespace

bool CudaDevice::joins(KernelId kernel) const {
  return !options_.stream_mode && kernels_[kernel.index].captures;
}

SegmentId CudaDevice::prepare_segment(std::vector<DeviceStep> steps) {
  PreparedSegment segment;
  for (const DeviceStep& step : steps) {
    if (!step.kernel.valid()) {
      segment.end = std::max(segment.end, step.to.offset + step.to.bytes);
      continue;
    }
    const PreparedKernel& kernel = kernels_[step.kernel.index];
    segment.end = std::max(segment.end, kernel.end);
    if (kernel.fault) faults_[*kernel.fault].order = step.order;
  }
  segment.steps = std::move(steps);
  segments_.push_back(std::move(segment));
  return SegmentId(segments_.size() - 1);
}

Touched CudaDevice::touched_by(const DeviceStep& step) const {
  if (!step.kernel.valid()) return {{step.from}, {step.to}};
  const PreparedKernel& kernel = kernels_[step.kernel.index];
  Touched touched = kernel.touched;
  const bool scratch = (kernel.matmul && kernel.matmul->workspace_bytes() > 0) || !kernel.calls.empty() ||
                       std::any_of(kernel.launches.begin(), kernel.launches.end(), [](const Launch& each) { return each.scratch >= 0; });
  if (scratch) touched.writes.push_back(kScratch);
  return touched;
}

Status CudaDevice::build(PreparedSegment& segment) {
  std::vector<Touched> touched;
  for (const DeviceStep& step : segment.steps) touched.push_back(touched_by(step));
  const std::vector<std::vector<std::size_t>> after = find_dependences(touched);
  Result<SegmentGraph> graph = SegmentGraph::make(*context_);
  if (!graph) return graph.error();
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    graph->begin_step(after[i]);
    if (Status status = add_step(*graph, segment.steps[i], 0, &segment.numbered); !status) return status;
  }
  if (graph->empty()) return {};
  Result<GraphExecHandle> made = graph->instantiate();
  if (!made) return made.error();
  segment.graph = *std::move(made);
  segment.source = graph->take_graph();
  return {};
}

CUDA_KERNEL_NODE_PARAMS CudaDevice::as_node(const Launch& launch, Parameters& parameters) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = launch.function;
  const auto& [grid, block] = std::tie(launch.shape.grid, launch.shape.block);
  node.gridDimX = grid[0], node.gridDimY = grid[1], node.gridDimZ = grid[2];
  node.blockDimX = block[0], node.blockDimY = block[1], node.blockDimZ = block[2];
  node.sharedMemBytes = launch.shape.shared_bytes;
  node.kernelParams = parameters.all;
  return node;
}

/// A kernel that checks its data gets the number of its command at each launch, so that a fault can be traced to its command. Its node's
/// parameters are therefore set before each launch of the graph; launches in flight are not affected.
Status CudaDevice::add_step(SegmentGraph& graph, const DeviceStep& step, std::uint64_t ticket, std::vector<NumberedNode>* numbered) const {
  if (!step.kernel.valid()) return graph.add_copy(at(step.to.offset), at(step.from.offset), step.to.bytes);
  const PreparedKernel& kernel = kernels_[step.kernel.index];
  const auto add_launch = [&](const Launch& launch) -> Status {
    Parameters parameters(launch, ticket);
    Result<CUgraphNode> node = graph.add_kernel(as_node(launch, parameters));
    if (!node) return node.error();
    if (launch.ticket >= 0 && numbered) numbered->push_back({*node, &launch});
    return {};
  };
  Status status = kernel.walk(add_launch, [&](LibraryCall& call) {
    return graph.add_captured([&](CUstream stream) { return call.enqueue(stream, kernel.operands); });
  });
  if (!status || !kernel.matmul) return status;
  return graph.add_captured([&](CUstream stream) { return kernel.matmul->launch(stream, kernel.addresses, scratch_.get()); });
}

}  // namespace cleave::runtime::cuda
