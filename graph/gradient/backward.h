// Backward: records the operations of one call of `gradient`.
#pragma once

#include <map>
#include <vector>

#include "graph/gradient/active.h"
#include "graph/gradient/gradient_location.h"
#include "graph/gradient/saved.h"
#include "graph/passes/dataflow.h"

namespace cleave::gradients {

class Backward {
 public:
  /// The tracer must insert in front of the call. `dataflow`: of the program as it was before.
  Backward(Tracer& tracer, const GradientRequest& request, const ActiveValues& active, const Dataflow& dataflow);

  /// Records the gradient and returns one part for each asked value.
  Parts run();

 private:
  class Call;
  /// The cotangents of the forward values of one region, as far as they are known, readable where operations are recorded now.
  using Cotangents = std::map<ValueId, Part>;

  void visit_region(RegionId region);
  void visit(NodeId id);
  void visit_operation(NodeId id);
  void visit_custom(NodeId id);
  void visit_loop(NodeId id);
  void visit_branch(NodeId id);
  void add(ValueId value, const Part& cotangent);
  [[nodiscard]] bool has(ValueId value) const { return cotangents_.contains(value); }
  Part take_or_zeros(ValueId value);
  Part zeros(const TensorType& type);
  /// Active values from outside of a loop or branch that its inside reads.
  [[nodiscard]] std::vector<ValueId> read_from_outside(NodeId control) const;
  [[nodiscard]] bool within(RegionId region, NodeId control) const;
  [[nodiscard]] std::vector<NodeId> owned(NodeId control, NodeKind kind) const;

  Tracer& tracer_;
  const GradientRequest& request_;
  const ActiveValues& active_;
  const Dataflow& dataflow_;
  GradientLocations locations_;
  SavedValues saved_;
  Composer composer_;  ///< at the node that is visited
  Cotangents cotangents_;
  Cotangents taken_;  ///< of asked values that a loop or branch gives, as they were when its backward part took them
  bool failed_ = false;
};

}  // namespace cleave::gradients
