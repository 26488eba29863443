#include "executor/cuda/segment_graph.h"

#include <algorithm>

namespace cleave::runtime::cuda {

Result<SegmentGraph> SegmentGraph::make(const Context& context) {
  SegmentGraph made(context);
  Result<GraphHandle> graph = GraphHandle::make(context, "cuGraphCreate", [&](CUgraph* g) { return context.api().cuGraphCreate(g, 0); });
  if (!graph) return graph.error();
  made.graph_ = *std::move(graph);
  made.to_ = made.graph_.get();
  Result<StreamHandle> stream = make_stream(context);
  if (!stream) return stream.error();
  made.stream_ = *std::move(stream);
  return made;
}

Result<SegmentGraph> SegmentGraph::within(const Context& context, CUgraph body) {
  SegmentGraph made(context);
  made.to_ = body;
  Result<StreamHandle> stream = make_stream(context);
  if (!stream) return stream.error();
  made.stream_ = *std::move(stream);
  return made;
}

void SegmentGraph::begin_step(const std::vector<std::size_t>& after) {
  std::vector<CUgraphNode> before;
  for (const std::size_t step : after) before.insert(before.end(), last_[step].begin(), last_[step].end());
  std::sort(before.begin(), before.end());  // steps without nodes pass on the nodes before them, so that some occur twice
  before.erase(std::unique(before.begin(), before.end()), before.end());
  last_.push_back(std::move(before));
}

Status SegmentGraph::added(Status status, CUgraphNode node) {
  if (!status) return status;
  last_.back() = {node};
  ++nodes_;
  return {};
}

Result<CUgraphNode> SegmentGraph::add_kernel(const CUDA_KERNEL_NODE_PARAMS& kernel) {
  CUgraphNode node = nullptr;
  const CUresult result = context_->api().cuGraphAddKernelNode(&node, to_, before().data(), before().size(), &kernel);
  if (Status status = added(context_->check("cuGraphAddKernelNode", result), node); !status) return status.error();
  return node;
}

Status SegmentGraph::add_copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes) {
  if (bytes == 0) return {};
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = static_cast<std::size_t>(bytes);
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  const CUresult result = context_->api().cuGraphAddMemcpyNode(&node, to_, before().data(), before().size(), &copy, context_->handle());
  return added(context_->check("cuGraphAddMemcpyNode", result), node);
}

Status SegmentGraph::add_captured(const std::function<Status(CUstream)>& work) {
  // Relaxed mode, because a library may load its code at its first call.
  const DriverApi& api = context_->api();
  Status status = context_->check("cuStreamBeginCapture", api.cuStreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  if (!status) return status;
  status = work(stream_.get());
  Result<GraphHandle> captured =
      GraphHandle::make(*context_, "cuStreamEndCapture", [&](CUgraph* g) { return api.cuStreamEndCapture(stream_.get(), g); });
  if (!status) return status;
  if (!captured) return captured.error();
  CUgraphNode node = nullptr;
  const CUresult result = api.cuGraphAddChildGraphNode(&node, to_, before().data(), before().size(), captured->get());
  return added(context_->check("cuGraphAddChildGraphNode", result), node);
}

Result<CUgraphConditionalHandle> SegmentGraph::new_condition() {
  CUgraphConditionalHandle condition = 0;
  Status status = context_->check("cuGraphConditionalHandleCreate",
                                  context_->api().cuGraphConditionalHandleCreate(&condition, to_, context_->handle(), 0, 0));
  if (!status) return status.error();
  return condition;
}

Result<CUgraph> SegmentGraph::add_conditional(CUgraphConditionalHandle condition, CUgraphConditionalNodeType type) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.handle = condition;
  node.conditional.type = type;
  node.conditional.size = 1;
  node.conditional.ctx = context_->handle();
  CUgraphNode made = nullptr;
  const CUresult result = context_->api().cuGraphAddNode(&made, to_, before().data(), nullptr, before().size(), &node);
  if (Status status = added(context_->check("cuGraphAddNode", result), made); !status) return status.error();
  return node.conditional.phGraph_out[0];
}

Result<GraphExecHandle> SegmentGraph::instantiate() {
  const DriverApi& api = context_->api();
  Result<GraphExecHandle> made =
      GraphExecHandle::make(*context_, "cuGraphInstantiate", [&](CUgraphExec* exec) { return api.cuGraphInstantiate(exec, to_, 0); });
  if (!made) return made.error();
  if (Status status = context_->check("cuGraphUpload", api.cuGraphUpload(made->get(), stream_.get())); !status) return status.error();
  return made;
}

}  // namespace cleave::runtime::cuda
