#include "partitioner/apply/rounds.h"

#include <algorithm>
#include <utility>

#include "partitioner/apply/kernel_rows.h"
#include "partitioner/machine/dataflow.h"
#include "partitioner/machine/placed_fusion.h"

namespace cleave::planner {
namespace {

/// Whether each operation of a kernel reads what one before it makes or reads, as those of a group do: a part of a group may fall apart.
bool hangs_together(const Graph& graph, const FusibleGroup& kernel) {
  std::vector<ValueId> known;
  for (std::size_t i = kernel.nodes.size(); i-- > 0;) {  // backward, as what is pulled stands in front of its reader
    const Node& node = graph.nodes[kernel.nodes[i]];
    const auto is_known = [&](ValueId value) { return std::find(known.begin(), known.end(), value) != known.end(); };
    if (!known.empty() && !is_known(node.results[0]) && std::none_of(node.inputs.begin(), node.inputs.end(), is_known)) return false;
    known.insert(known.end(), node.inputs.begin(), node.inputs.end());
    known.push_back(node.results[0]);
  }
  return true;
}

/// Whether the kernels that a placement was priced with can all be had: each hangs together, and those of one side do not wait for those of
/// the other in a circle.
bool can_stand(const Graph& graph, const CostedProblem& costed, const Placement& placement) {
  FusibleGroups kernels = kernels_of(costed.fusible, placement);
  for (const std::vector<FusibleGroup>& side : kernels)
    for (const FusibleGroup& kernel : side)
      if (!hangs_together(graph, kernel)) return false;
  const auto count = [&] {
    std::size_t sum = 0;
    for (const std::vector<FusibleGroup>& side : kernels) sum += side.size();
    return sum;
  };
  const std::size_t before = count();
  order_for(graph, *costed.uses, kernels);
  return count() == before;
}

/// Whether each group lies on its side in one piece, or not at all: then others would not be found for this placement.
bool in_one_piece(const FusibleGroups& groups, const Placement& placement) {
  for (std::size_t d = 0; d < groups.size(); ++d) {
    for (const FusibleGroup& group : groups[DeviceId(d)]) {
      const auto there = [&](NodeId node) { return placement.has_copy(node.index, DeviceId(d)); };
      const auto count = std::count_if(group.nodes.begin(), group.nodes.end(), there);
      if (count > 0 && static_cast<std::size_t>(count) < group.nodes.size()) return false;
    }
  }
  return true;
}

}  // namespace

Result<Placement> solve_in_rounds(const Graph& graph, const CostModel& model, CostedProblem& costed) {
  constexpr int kMostRounds = 4;
  constexpr std::size_t kMostNodes = 2000;  // of larger programs once is enough: a round takes as long as all planning
  constexpr double kLeastGain = 1e-9;
  Result<Placement> best = solve(costed.problem);
  if (!best || costed.problem.savings.empty()) return best;
  bool stands = can_stand(graph, costed, *best);
  if (stands && (graph.nodes.size() > kMostNodes || in_one_piece(costed.fusible, *best))) return best;
  const Dataflow dataflow(graph);
  Placement at = *best;  // whose groups are formed next
  for (int round = 0; round < kMostRounds; ++round) {
    FusibleGroups groups = find_placed(graph, dataflow, at, model.host_fuses, model.accelerator_fuses);
    CostedProblem regrouped = with_groups(graph, model, costed, std::move(groups));
    Result<Placement> next = solve(regrouped.problem);
    if (!next) break;
    if (!can_stand(graph, regrouped, *next)) {  // then the same placement with the groups that were found for it
      if (stands) break;
      next = evaluate(regrouped.problem, std::move(at.on_host), std::move(at.on_accelerator));
    }
    if (stands && next->objective_seconds >= best->objective_seconds * (1 - kLeastGain)) break;
    best = std::move(next);
    at = *best;
    costed = std::move(regrouped);
    stands = true;
    if (graph.nodes.size() > kMostNodes) break;
  }
  return best;
}

}  // namespace cleave::planner
