#include "partitioner/advice/machine_ranges.h"

#include <cmath>

namespace cleave::planner {
namespace {

constexpr double kBehind = 1e-6;  ///< fraction of the multiple by which the plan is examined beyond an edge

Result<MachineRanges::Edge> edge_at(const Plan& plan, const LinkLatency& latency, Varied varied, double multiple, bool upper) {
  MachineRanges::Edge edge{multiple, upper, {}, {}};
  const double behind = multiple * (upper ? 1 + kBehind : 1 - kBehind);
  const Result<Placement> other = solve(with_multiple(plan.costed.problem, latency, varied, behind));
  if (!other) return other.error();
  for (std::size_t i = 0; i < plan.graph->nodes.size(); ++i) {
    if (plan.graph->nodes[NodeId(i)].kind != NodeKind::operation) continue;
    const bool was = plan.placement.has_copy(i, kAccelerator), is = other->has_copy(i, kAccelerator);
    if (was != is) (is ? edge.to_accelerator : edge.to_host).push_back(NodeId(i));
  }
  return edge;
}

}  // namespace

Result<MachineRanges> find_machine_ranges(const Plan& plan) {
  const auto none = [](const std::string& why) {
    return Error{"no range of the machine can be told for this plan: " + why, {}, ErrorKind::user};
  };
  if (plan.machine.accelerators.empty()) return none("the machine has no accelerator");
  if (plan.costed.problem.accelerator_memory_bytes > 0)
    return none("what fits into the accelerator's memory decides, and not the costs alone");
  const auto latency_of = [&](DeviceId from, DeviceId to) { return plan.machine.link(from, to).seconds(0); };
  const LinkLatency latency{latency_of(kHost, kAccelerator), latency_of(kAccelerator, kHost)};
  const Result<Sensitivity> found = sensitivity(plan.costed.problem, plan.placement, latency);
  if (!found && plan.policy == Policy::fastest)
    return none("it has not the least sum of work and transfers; `--placement optimal` has, and there is one");
  if (!found) return none(found.error().message);
  MachineRanges ranges;
  for (const auto& [varied, multiples] :
       {std::pair(Varied::bandwidth, found->bandwidth), {Varied::latency, found->latency}, {Varied::speed, found->speed}}) {
    MachineRanges::Range range{varied, multiples, {}};
    for (const bool upper : {false, true}) {
      const double multiple = upper ? multiples.high : multiples.low;
      if (!(multiple > 0) || std::isinf(multiple)) continue;
      Result<MachineRanges::Edge> edge = edge_at(plan, latency, varied, multiple, upper);
      if (!edge) return edge.error();
      range.edges.push_back(*std::move(edge));
    }
    ranges.ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace cleave::planner
