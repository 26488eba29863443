// StartedWork: the host work that a decision of the accelerator starts. It stands in a loop or branch whose predicate or count is computed
// from accelerator values, with nothing in between that the user keeps on the host; it reads no accelerator value itself, and accelerator
// work needs it. What the host computes with its results belongs to it. Knows no grouping and no wording.
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

  /// Where a decision starts the host work of a region.
  struct Start {
    NodeId control;   ///< the innermost loop or branch that the accelerator decides; none: nothing starts the work
    RegionId region;  ///< each execution of this region is one start
    NodeId ahead;     ///< the outermost loop in between, in which the host runs ahead of the accelerator; none
  };

  /// All must outlive it.
  StartedWork(const Graph& graph, const CostedProblem& costed, const Placement& placement, const Transfers& transfers,
              const HostFlow& flow);

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool contains(Vertex v) const { return any_ && work_[v] != 0; }
  /// Whether a decision starts this operation itself, not only one whose result it reads.
  [[nodiscard]] bool starts(Vertex v) const { return any_ && started_[v] != 0; }
  [[nodiscard]] const Start& start(NodeId node) const { return start_[graph_.nodes[node].region]; }
  /// Whether the accelerator waits for what the started operation `v` makes, if it needs that in `region`: not inside a loop in which the
  /// host runs ahead.
  [[nodiscard]] bool awaited(Vertex v, RegionId region) const;

  /// The transfers that tell the host a predicate or count of `control` as it is.
  [[nodiscard]] std::span<const Link> told(NodeId control) const;
  /// Whether a vertex only hands on what the accelerator decided, or what the planner computes with it on the host.
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
  std::vector<Link> told_;  ///< sorted
  Marks decisive_;          ///< by vertex: made from accelerator values by vertices that hand on
  IdVector<RegionId, Start> start_;
  Marks started_, work_;  ///< by vertex
};

}  // namespace cleave::planner
