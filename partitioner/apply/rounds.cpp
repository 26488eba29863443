#include "partitioner/apply/rounds.h"

#include <algorithm>
#include <utility>

#include "graph/passes/dataflow.h"
#include "partitioner/apply/kernel_rows.h"
#include "partitioner/machine/placed_fusion.h"

namespace cleave::planner {
namespace {

/// For each operation of a kernel, the number of its connected component. Two operations are connected if they make or read a common value.
std::vector<std::size_t> pieces_of(const Graph& graph, const FusibleGroup& kernel) {
  std::vector<std::size_t> piece(kernel.nodes.size());
  std::vector<std::pair<ValueId, std::size_t>> known;  // values, each with the last operation that makes or reads it
  const auto connect = [&](ValueId value, std::size_t i) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == value; });
    if (found == known.end()) return known.emplace_back(value, i), void();
    std::replace(piece.begin(), piece.end(), piece[i], std::size_t{piece[found->second]});
  };
  for (std::size_t i = 0; i < piece.size(); ++i) {
    piece[i] = i;
    const Node& node = graph.nodes[kernel.nodes[i]];
    for (const ValueId input : node.inputs) connect(input, i);
    connect(node.results[0], i);
  }
  return piece;
}

/// Whether a kernel is connected, as fusible groups are. A part of a group may not be.
bool hangs_together(const Graph& graph, const FusibleGroup& kernel) {
  const std::vector<std::size_t> piece = pieces_of(graph, kernel);
  return std::all_of(piece.begin(), piece.end(), [&](std::size_t each) { return each == piece.front(); });
}

/// Whether all kernels that a placement was priced with are possible: each is connected, and kernels of the two sides do not depend on each
/// other in a cycle.
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

/// Whether each group is on its side either completely or not at all. Then forming groups for this placement would give the same ones.
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
  // One round must do for larger programs, because a round takes as long as all other planning.
  constexpr std::size_t kMostNodes = 2000;
  constexpr double kLeastGain = 1e-9;
  Result<Placement> best = solve(costed.problem);
  if (!best || costed.problem.savings.empty()) return best;
  bool stands = can_stand(graph, costed, *best);
  if (stands && (graph.nodes.size() > kMostNodes || in_one_piece(costed.fusible, *best))) return best;
  const Dataflow dataflow(graph);
  Placement at = *best;  // the placement whose groups are formed next
  for (int round = 0; round < kMostRounds; ++round) {
    FusibleGroups groups = find_placed(graph, dataflow, at, model.host_fuses, model.accelerator_fuses);
    CostedProblem regrouped = with_groups(graph, model, costed, std::move(groups));
    Result<Placement> next = solve(regrouped.problem);
    if (!next) break;
    if (!can_stand(graph, regrouped, *next)) {  // then keep the placement, with the groups that were found for it
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
