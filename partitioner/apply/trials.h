// Trials: what an edit of the program would be worth, found by planning the edited program. Advice is given only if it was tried here.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

class Trials {
 public:
  /// `seconds`: that a run of the plan as it is takes, predicted. All but the number must outlive it.
  Trials(const PlannedGraph& planned, const CostModel& model, double seconds) : planned_(planned), model_(model), seconds_(seconds) {}

  /// Whether one more is tried. All trials of a large program together take no longer than planning it.
  [[nodiscard]] bool may_try() const;
  /// How much sooner a run is predicted to be over if these nodes, unless they have effects, are pinned no more and have a kernel for the
  /// accelerator. Less than nothing: later. Nothing: there is no such plan that fits into memory, or too much was tried already.
  std::optional<double> saved_by_freeing(std::span<const NodeId> nodes);
  /// The same if these nodes were not pinned. What has no kernel stays on the host.
  std::optional<double> saved_by_unpinning(std::span<const NodeId> nodes);
  /// The same if these nodes of a loop's regions stand in front of it. What they read must be there, or be among them, in program order.
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
