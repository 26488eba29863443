// SegmentGraph: builds the CUDA graph of a straight piece of work: a node for each kernel and copy, a captured graph for what a library
// launches, conditional nodes with graphs of their own, and edges by the memory that steps touch, so that independent steps may run at
// once. Built once, before any run.
#pragma once

#include <functional>
#include <vector>

#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class SegmentGraph {
 public:
  static Result<SegmentGraph> make(const Context& context);
  /// Fills the body of a conditional node, which stays the node's.
  static Result<SegmentGraph> within(const Context& context, CUgraph body);

  /// The nodes from here on are one step's, one after the other, behind the last nodes of the steps `after`.
  void begin_step(const std::vector<std::size_t>& after);
  /// The driver copies the parameters. The node is the graph's.
  Result<CUgraphNode> add_kernel(const CUDA_KERNEL_NODE_PARAMS& kernel);
  Status add_copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes);
  /// What `work` puts into a stream.
  Status add_captured(const std::function<Status(CUstream)>& work);

  /// A condition that kernels set, for one node of this graph.
  Result<CUgraphConditionalHandle> new_condition();
  /// What runs while, or if, the condition is not zero: its body, to be filled.
  Result<CUgraph> add_conditional(CUgraphConditionalHandle condition, CUgraphConditionalNodeType type);

  [[nodiscard]] bool empty() const { return nodes_ == 0; }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  /// Ready to be launched, and on the device.
  Result<GraphExecHandle> instantiate();
  /// For whoever wants to change nodes of what was instantiated; the end of this.
  GraphHandle take_graph() { return std::move(graph_); }

 private:
  explicit SegmentGraph(const Context& context) : context_(&context) {}
  /// What the step's next node stands behind.
  [[nodiscard]] const std::vector<CUgraphNode>& before() const { return last_.back(); }
  Status added(Status status, CUgraphNode node);

  const Context* context_;
  GraphHandle graph_;  ///< empty: somebody else's
  CUgraph to_ = nullptr;
  StreamHandle stream_;                         ///< for captures
  std::vector<std::vector<CUgraphNode>> last_;  ///< by step: what its next node, or the steps after it, stand behind
  std::size_t nodes_ = 0;
};

}  // namespace cleave::runtime::cuda
