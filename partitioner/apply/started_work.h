// StartedWork: the host work that a decision of the accelerator starts. It is in a loop or branch whose predicate or count is computed from
// accelerator values, without an operation in between that the user keeps on the host; it reads no accelerator value itself, and
// accelerator work needs it. Host operations that read its results belong to it. It knows neither the grouping of round trips nor messages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitioner/apply/host_flow.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

class StartedWork {
 public:
  using Vertex = HostFlow::Vertex;
  using Link = HostFlow::Link;

  /// The decision that starts the host work of a region.
  struct Start {
    NodeId control;   ///< the innermost loop or branch that the accelerator decides; none: no decision starts the work
    RegionId region;  ///< each execution of this region starts the work once
    /// The outermost loop, from `control` inward, in which the host can run ahead of the accelerator; or none.
    NodeId ahead;
  };

  /// All arguments must outlive this object.
  StartedWork(const Graph& graph, const CostedProblem& costed, const Placement& placement, const Transfers& transfers,
              const HostFlow& flow);

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool contains(Vertex v) const { return any_ && work_[v] != 0; }
  /// Whether a decision starts operation `v` itself, not only an operation whose result `v` reads.
  [[nodiscard]] bool starts(Vertex v) const { return any_ && started_[v] != 0; }
  [[nodiscard]] const Start& start(NodeId node) const { return start_[graph_.nodes[node].region]; }
  /// Whether the accelerator waits for the result of the started operation `v` if it needs it in `region`. It does not inside a loop in
  /// which the host runs ahead.
  [[nodiscard]] bool awaited(Vertex v, RegionId region) const;

  /// The transfers that bring the predicate or a count of `control` to the host directly.
  [[nodiscard]] std::span<const Link> told(NodeId control) const;
  /// Whether a vertex only forwards the accelerator's decision, or computes with it on the host by the planner's choice, not the user's.
  [[nodiscard]] bool hands_on(Vertex v) const;

 private:
  using Marks = std::vector<std::uint8_t>;

  void find_told();
  void find_decisive();
  [[nodiscard]] bool accelerator_gives(NodeId control, ValueId decider) const;
  bool find_starts();
  void find_work(const Placement& placement);

  const Graph& graph_;
  const CostedProblem& costed_;
  const Transfers& transfers_;
  const HostFlow& flow_;
  bool any_ = false;
  std::vector<Link> told_;  ///< by control node, sorted
  Marks decisive_;          ///< by vertex: computed from accelerator values, only through vertices that hands_on() accepts
  IdVector<RegionId, Start> start_;
  Marks started_, work_;  ///< by vertex
};

}  // namespace cleave::planner
