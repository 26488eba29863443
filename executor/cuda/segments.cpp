#include "executor/cuda/segments.h"

namespace cleave::runtime::cuda {

SegmentId CudaSegments::prepare(std::vector<DeviceStep> steps) {
  PreparedSegment segment;
  segment.end = kernels_.join(steps);
  segment.steps = std::move(steps);
  segments_.push_back(std::move(segment));
  return SegmentId(segments_.size() - 1);
}

Status CudaSegments::build() {
  Status status;
  for (PreparedSegment& segment : segments_) {
    if (status && !segment.graph) status = build(segment);
  }
  return status;
}

Status CudaSegments::build(PreparedSegment& segment) {
  std::vector<Touched> touched;
  for (const DeviceStep& step : segment.steps) touched.push_back(kernels_.touched_by(step));
  const std::vector<std::vector<std::size_t>> after = find_dependences(touched);
  Result<SegmentGraph> graph = SegmentGraph::make(context_);
  if (!graph) return graph.error();
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    graph->begin_step(after[i]);
    if (Status status = kernels_.add_step(*graph, segment.steps[i], 0, &segment.numbered); !status) return status;
  }
  if (graph->empty()) return {};
  Result<GraphExecHandle> made = graph->instantiate();
  if (!made) return made.error();
  segment.graph = *std::move(made);
  segment.source = graph->take_graph();
  return {};
}

Status CudaSegments::launch(SegmentId id, const Origin& origin) {
  const PreparedSegment& segment = segments_[id.index];
  memory_.touch(segment.end);
  if (!segment.graph) return {};
  const DriverApi& driver = context_.api();
  const auto launch = [&](CUstream stream, std::uint64_t number) -> Status {
    for (const NumberedNode& each : segment.numbered) {
      LaunchParameters parameters(*each.launch, number);
      const CUDA_KERNEL_NODE_PARAMS node = as_node(*each.launch, parameters);
      Status status =
          context_.check("cuGraphExecKernelNodeSetParams", driver.cuGraphExecKernelNodeSetParams(segment.graph.get(), each.node, &node));
      if (!status) return status;
    }
    return context_.check("cuGraphLaunch", driver.cuGraphLaunch(segment.graph.get(), stream));
  };
  return streams_.enqueue(Stream::compute, origin, launch, segment.steps.size());
}

}  // namespace cleave::runtime::cuda
