// SegmentGraph: builds the CUDA graph of a segment: a node for each kernel and copy, a captured graph for each library call, conditional
// nodes with graphs of their own, and edges between dependent steps only, so that independent steps may run concurrently. Built once,
// before any run.
#pragma once

#include <functional>
#include <vector>

#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class SegmentGraph {
 public:
  static Result<SegmentGraph> make(const Context& context);
  /// Builds the body of a conditional node; the node keeps owning the graph.
  static Result<SegmentGraph> within(const Context& context, CUgraph body);

  /// Begins a step: the nodes that are added next run one after the other, after the last nodes of the steps `after`.
  void begin_step(const std::vector<std::size_t>& after);
  /// The driver copies the parameters. The graph owns the node.
  Result<CUgraphNode> add_kernel(const CUDA_KERNEL_NODE_PARAMS& kernel);
  Status add_copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes);
  /// Captures what `work` enqueues into a stream, and adds it as a child graph.
  Status add_captured(const std::function<Status(CUstream)>& work);

  /// A condition that kernels can set, for one conditional node of this graph.
  Result<CUgraphConditionalHandle> new_condition();
  /// Adds a node whose body runs while (or if) the condition is not zero, and gives the empty body.
  Result<CUgraph> add_conditional(CUgraphConditionalHandle condition, CUgraphConditionalNodeType type);

  [[nodiscard]] bool empty() const { return nodes_ == 0; }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  /// Instantiates the graph and uploads it to the device.
  Result<GraphExecHandle> instantiate();
  /// Hands over the graph, whose nodes a caller needs to change parameters of the instantiated graph. This object is empty afterwards.
  GraphHandle take_graph() { return std::move(graph_); }

 private:
  explicit SegmentGraph(const Context& context) : context_(&context) {}
  /// The nodes that the step's next node depends on.
  [[nodiscard]] const std::vector<CUgraphNode>& before() const { return last_.back(); }
  Status added(Status status, CUgraphNode node);

  const Context* context_;
  GraphHandle graph_;  ///< empty: `to_` belongs to a conditional node
  CUgraph to_ = nullptr;
  StreamHandle stream_;                         ///< for captures
  std::vector<std::vector<CUgraphNode>> last_;  ///< by step: the nodes that its next node, and later dependent steps, depend on
  std::size_t nodes_ = 0;
};

}  // namespace cleave::runtime::cuda
