// KernelDraft: the KernelRequest for a fused kernel while a search adds and removes operations. It is updated incrementally, so that a
// query to a fusion rule costs time for the change, not for the whole kernel.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::kernels {

class KernelDraft {
 public:
  /// `uses`: by value, number of reads in the whole program (count_uses). Both must outlive the draft.
  KernelDraft(const Graph& graph, const std::vector<int>& uses) : graph_(&graph), uses_(&uses) {}

  /// Appends an operation. Those before it may produce some of its operands or be unconnected with it.
  void push(NodeId node);
  /// Removes the last operation.
  void pop();
  [[nodiscard]] std::size_t size() const { return request_.steps.size(); }

  /// The request that writes the results with readers outside, and that of the last operation. Equal to request_for(make_group()); valid
  /// until the draft changes.
  const KernelRequest& request();
  /// The request that writes all results, as if all had readers outside.
  const KernelRequest& all_written();
  /// Whether `takes` accepts the draft with these two operations added; the draft itself does not change.
  bool is_taken_with(NodeId first, NodeId second, const FusionRule& takes);
  /// Whether `request` leaves out a result that `all_written` writes.
  [[nodiscard]] bool hides() const;

 private:
  [[nodiscard]] bool knows(ValueId value) const;
  /// The number of a value among the request's operands; the value is known.
  [[nodiscard]] std::size_t operand(ValueId value) const;
  [[nodiscard]] bool is_written(std::size_t step) const;
  void write(std::size_t step, std::size_t place);
  const KernelRequest& finish(std::size_t written);

  const Graph* graph_;
  const std::vector<int>* uses_;
  KernelRequest request_;
  std::vector<ValueId> inputs_, results_;
  std::vector<std::size_t> inputs_before_;  ///< by step: number of inputs of the steps before it
  std::vector<int> reads_;                  ///< by step: number of reads of its result by the other steps
  std::vector<FusedStep> spare_steps_;      ///< kept so that their memory is reused
  std::vector<TensorType> spare_types_;
};

}  // namespace cleave::kernels
