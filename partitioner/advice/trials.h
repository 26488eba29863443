// Trials: predicts the effect of an edit of the program by planning the edited program. Advice is given only for edits tried here.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

/// Plans edited versions of one graph within a budget, and compares their predicted times with that of the plan.
class Trials {
 public:
  /// `seconds` is the predicted time of a run of the unedited plan. The other arguments must outlive this object.
  Trials(const PlannedGraph& planned, const CostModel& model, double seconds) : planned_(planned), model_(model), seconds_(seconds) {}

  /// Whether another trial is within the budget: all trials of a large program together take no longer than planning it.
  [[nodiscard]] bool may_try() const;
  /// The predicted time saved if these nodes lose their pins and have a kernel for the accelerator, except nodes with effects. Negative if
  /// the run becomes longer. Empty if no such plan fits into memory, or if the budget is spent.
  std::optional<double> saved_by_freeing(std::span<const NodeId> nodes);
  /// The same if these nodes lose their pins. Nodes without an accelerator kernel stay on the host.
  std::optional<double> saved_by_unpinning(std::span<const NodeId> nodes);
  /// The same if these nodes, which are in regions of `loop`, are moved in front of it. Their operands must exist there or be among
  /// `nodes`, which must be in program order.
  std::optional<double> saved_by_hoisting(std::span<const NodeId> nodes, NodeId loop);

 private:
  [[nodiscard]] std::optional<double> saved_in(const std::shared_ptr<const Graph>& edited) const;
  [[nodiscard]] std::optional<double> saved(const PlannedGraph& edited) const;

  const PlannedGraph& planned_;
  const CostModel& model_;
  const double seconds_;
  std::size_t tried_ = 0;
};

}  // namespace cleave::planner
