// why() re-solves. kernel_savings() ties each candidate to the source with an infinite capacity and solves once. For each candidate it then
// asks relieve() how far the cut falls if that capacity is reduced to the cost of an accelerator execution.
#include "partitioner/advice/advise.h"

#include <algorithm>

#include "partitioner/solver/contract.h"
#include "partitioner/solver/network.h"
#include "partitioner/solver/reduce.h"

namespace cleave::planner {
namespace {

double transfer_seconds(const PlacementProblem& problem, const Placement& placement) {
  double sum = 0;
  for (const PlannedTransfer& transfer : placement.transfers) {
    const auto& value = problem.values[transfer.value];
    sum += problem.regions[transfer.region].frequency * value.seconds(transfer.from, transfer.to);
  }
  return sum;
}

Choice choice(const PlacementProblem& problem, const Placement& placement, std::int32_t node, bool accelerator) {
  const auto& of = problem.nodes[node];
  Choice result;
  std::vector<std::uint8_t> on_host = placement.on_host, on_accelerator = placement.on_accelerator;
  on_host[node] = !accelerator;
  on_accelerator[node] = accelerator;
  result.execution_seconds =
      problem.regions[of.region].frequency * execution_seconds(problem, on_host, on_accelerator, accelerator ? kAccelerator : kHost)[node];
  const Placement alone = evaluate(problem, std::move(on_host), std::move(on_accelerator));
  result.seconds_if_alone = alone.objective_seconds;
  result.transfer_seconds_if_alone = transfer_seconds(problem, alone);
  PlacementProblem pinned = problem;
  pinned.nodes[node].pin = accelerator ? PlacementProblem::Pin::accelerator : PlacementProblem::Pin::host;
  if (!accelerator) pinned.nodes[node].keep_accelerator_copy = false;
  const Result<Placement> best = solve(pinned);
  if (best) result.optimum_seconds = best->objective_seconds;
  return result;
}

/// The problem's classes with the candidates open. A decision is made only if it holds whichever single candidate is unpinned: to the host,
/// the classes that would go there even if all candidates were unpinned; to the accelerator, those that would go there even if none were.
Result<Contraction> open_candidates(const PlacementProblem& problem, const UsesByValue& uses, const CapacityScale& scale,
                                    const std::vector<std::uint8_t>& candidate) {
  Result<Contraction> held = contract(problem);
  if (!held) return held;
  Contraction open = *held;
  for (std::size_t c = 0; c < candidate.size(); ++c) {
    if (candidate[c]) open.classes[c] = {PlacementProblem::Pin::none, false, false};
  }
  reduce(problem, uses, scale, {.to_host = true, .to_accelerator = false}, open);
  reduce(problem, uses, scale, {.to_host = false, .to_accelerator = true}, *held);
  for (std::size_t c = 0; c < candidate.size(); ++c) {
    if (!candidate[c] && held->classes[c].pin == PlacementProblem::Pin::accelerator) open.classes[c] = held->classes[c];
  }
  return open;
}

}  // namespace

Result<Why> why(const PlacementProblem& problem, const Placement& placement, std::int32_t node) {
  if (node < 0 || static_cast<std::size_t>(node) >= problem.nodes.size()) return Error{"there is no node " + std::to_string(node)};
  if (Status status = verify(problem); !status) return status.error();
  Why result;
  result.on_host = placement.on_host[node] != 0;
  result.on_accelerator = placement.on_accelerator[node] != 0;
  result.host = choice(problem, placement, node, false);
  result.accelerator = choice(problem, placement, node, true);
  return result;
}

Result<std::vector<KernelSaving>> kernel_savings(const PlacementProblem& problem, const std::vector<std::int32_t>& host_only) {
  if (Status status = verify(problem); !status) return status.error();
  Result<Contraction> contraction = contract(problem);
  if (!contraction) return contraction.error();
  std::vector<std::int32_t> members(contraction->classes.size(), 0);
  for (const std::int32_t of : contraction->class_of) ++members[of];
  std::vector<std::uint8_t> candidate(contraction->classes.size(), 0);
  for (const std::int32_t node : host_only) {
    if (node < 0 || static_cast<std::size_t>(node) >= problem.nodes.size()) return Error{"there is no node " + std::to_string(node)};
    if (problem.nodes[node].pin != PlacementProblem::Pin::host) return Error{"node " + std::to_string(node) + " is not pinned to the host"};
    candidate[contraction->class_of[node]] = members[contraction->class_of[node]] == 1;  // the other members of a group keep it on the host
  }
  const UsesByValue uses(problem);
  const CapacityScale scale(problem, uses);
  contraction = open_candidates(problem, uses, scale, candidate);
  PlacementNetwork network = make_network(problem, *contraction, uses, scale);

  std::vector<KernelSaving> advice;
  std::vector<Relief> reliefs;
  std::vector<std::size_t> relieved;
  for (const std::int32_t node : host_only) {
    const std::int32_t vertex = network.accelerator_vertex[contraction->class_of[node]];
    advice.push_back({node, 0, 0});
    if (vertex < 0 || !candidate[contraction->class_of[node]]) continue;  // it goes to the host even if unpinned
    relieved.push_back(advice.size() - 1);
    reliefs.push_back({vertex, network.cut.source_capacity[vertex]});
  }
  constexpr std::int64_t kHold = std::int64_t{1} << 62;  // exceeds the sum of all costs
  for (const Relief& relief : reliefs) network.cut.source_capacity[relief.vertex] = kHold;
  const Relieved answer = relieve(network.cut, reliefs);
  const double optimum = scale.seconds(answer.value + network.constant);
  for (KernelSaving& item : advice) item.optimum_seconds = optimum;
  for (std::size_t i = 0; i < reliefs.size(); ++i) {
    advice[relieved[i]].saved_seconds = scale.seconds(answer.savings[i]);
    advice[relieved[i]].optimum_seconds = scale.seconds(answer.value + network.constant - answer.savings[i]);
  }
  std::sort(advice.begin(), advice.end(), [](const KernelSaving& a, const KernelSaving& b) {
    return a.saved_seconds != b.saved_seconds ? a.saved_seconds > b.saved_seconds : a.node < b.node;
  });
  return advice;
}

}  // namespace cleave::planner
