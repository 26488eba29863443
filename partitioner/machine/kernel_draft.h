// KernelDraft: the request for operations as one kernel, while a search tries one operation more or fewer. Asking a rule for each of them
// costs what changed, not what the whole kernel has.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::planner {

class KernelDraft {
 public:
  /// `uses`: by value, how often it is read in all (count_uses). Both outlive the draft.
  KernelDraft(const Graph& graph, const std::vector<int>& uses) : graph_(&graph), uses_(&uses) {}

  /// An operation behind those that are there, which make some of what it reads, or are not connected with it.
  void push(NodeId node);
  /// Without the last one.
  void pop();
  [[nodiscard]] std::size_t size() const { return request_.steps.size(); }

  /// What others read is written, and what the last one makes. Equal to request_for of make_group; valid until the draft changes.
  const KernelRequest& request();
  /// The same if others read all of it.
  const KernelRequest& all_written();
  /// Whether there is a kernel for what is there together with these two, which are left out again.
  bool is_taken_with(NodeId first, NodeId second, const FusionRule& takes);
  /// Whether `request` leaves out what `all_written` writes.
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
  std::vector<std::size_t> inputs_before_;  ///< by step: how many inputs those before it have
  std::vector<int> reads_;                  ///< by step: how often the others read its result
  std::vector<FusedStep> spare_steps_;      ///< their memory is used again
  std::vector<TensorType> spare_types_;
};

}  // namespace cleave::planner
