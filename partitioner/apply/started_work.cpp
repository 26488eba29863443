#include "partitioner/apply/started_work.h"

#include <algorithm>

#include "partitioner/apply/invariant_work.h"

namespace cleave::planner {
namespace {

using Vertex = HostFlow::Vertex;

/// Marks `pending` and the vertices reached from it along the host's data, through vertices that `passes` accepts.
template <class Passes>
void spread(const HostFlow& flow, std::vector<std::uint8_t>& marks, std::vector<Vertex> pending, Passes&& passes) {
  for (const Vertex v : pending) marks[v] = 1;
  while (!pending.empty()) {
    const Vertex v = pending.back();
    pending.pop_back();
    flow.for_each_next(v, [&](Vertex next, UseKind) {
      if (marks[next] || !passes(next)) return;
      marks[next] = 1;
      pending.push_back(next);
    });
  }
}

}  // namespace

StartedWork::StartedWork(const Graph& graph, const CostedProblem& costed, const Placement& placement, const Transfers& transfers,
                         const HostFlow& flow)
    : graph_(graph), costed_(costed), transfers_(transfers), flow_(flow), start_(graph.regions.size()) {
  find_told();
  find_decisive();
  if (find_starts()) find_work(placement);
}

std::span<const StartedWork::Link> StartedWork::told(NodeId control) const {
  const auto first = std::lower_bound(told_.begin(), told_.end(), Link(control.index, 0));
  const auto last = std::find_if(first, told_.end(), [&](const Link& link) { return link.first != control.index; });
  return {first, last};
}

bool StartedWork::hands_on(Vertex v) const {
  if (!flow_.computes(v) || graph_.nodes[NodeId(v)].kind != NodeKind::operation) return true;
  const Cause cause = costed_.forced[v];
  return cause == Cause::none || cause == Cause::cheaper || graph_.nodes[NodeId(v)].op->moves_to == Side::host;
}

void StartedWork::find_told() {
  for (std::size_t t = 0; t < transfers_.items.size(); ++t) {
    if (transfers_.items[t].to != kHost) continue;
    for (const ValueUse& use : flow_.deliveries().of(t))
      if (use.decides()) told_.emplace_back(use.node.index, t);
  }
  std::sort(told_.begin(), told_.end());
  told_.erase(std::unique(told_.begin(), told_.end()), told_.end());
}

void StartedWork::find_decisive() {
  decisive_.assign(flow_.size(), 0);
  std::vector<Vertex> arrivals;
  for (Vertex v = 0; v < flow_.size(); ++v)
    if (hands_on(v) && !flow_.arrivals(v).empty()) arrivals.push_back(v);
  spread(flow_, decisive_, std::move(arrivals), [&](Vertex v) { return hands_on(v); });
}

bool StartedWork::accelerator_gives(NodeId control, ValueId decider) const {
  const auto direct = told(control);
  if (std::any_of(direct.begin(), direct.end(), [&](const Link& link) { return transfers_.items[link.second].value == decider; }))
    return true;
  bool gives = false;
  flow_.with_source(decider, [&](Vertex v) { gives = decisive_[v] != 0; });
  return gives;
}

/// Returns true if the accelerator decides any loop or branch that the host walks.
bool StartedWork::find_starts() {
  bool any = false;
  for (std::size_t r = 1; r < graph_.regions.size(); ++r) {  // parents come first
    const RegionId region(r);
    const NodeId control = graph_.regions[region].owner;
    const Node& node = graph_.nodes[control];
    const Start outer = start_[graph_.regions[region].parent];
    const auto given = [&](ValueId decider) { return decider && accelerator_gives(control, decider); };
    const bool by_input = std::any_of(node.inputs.begin(), node.inputs.end(), given);
    const bool each_time =
        (node.kind == NodeKind::branch && by_input) ||
        std::any_of(node.regions.begin(), node.regions.end(), [&](RegionId inner) { return given(graph_.regions[inner].predicate); });
    if (!flow_.decided_by_host(control)) {
      start_[region] = outer;
    } else if (each_time) {
      start_[region] = {control, region, {}};
    } else if (by_input) {
      start_[region] = {control, node.region, control};  // the host knows all iterations at once
    } else {
      start_[region] = outer;
      if (outer.control && !outer.ahead && node.kind != NodeKind::branch) start_[region].ahead = control;
    }
    any = any || start_[region].control;
  }
  return any;
}

/// Finds the started work. It leaves out loop-invariant work, which a loop's decisions do not start, since it could be hoisted.
void StartedWork::find_work(const Placement& placement) {
  std::vector<Vertex> found;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto v = static_cast<Vertex>(i);
    const bool candidate = graph_.nodes[NodeId(i)].kind == NodeKind::operation && flow_.computes(v) && flow_.needed(v);
    if (candidate && !flow_.from_accelerator(v) && start(NodeId(i)).control) found.push_back(v);
  }
  if (found.empty()) return;
  Marks repeated(graph_.nodes.size(), 0);
  for (const InvariantWork& work : find_invariant_work(graph_, costed_, placement))
    for (const NodeId node : work.nodes) repeated[node.index] = 1;
  std::erase_if(found, [&](Vertex v) { return repeated[v] != 0; });
  any_ = !found.empty();
  started_.assign(flow_.size(), 0);
  for (const Vertex v : found) started_[v] = 1;
  work_.assign(flow_.size(), 0);
  spread(flow_, work_, std::move(found), [&](Vertex v) { return flow_.needed(v) && !(flow_.computes(v) && flow_.from_accelerator(v)); });
}

bool StartedWork::awaited(Vertex v, RegionId region) const {
  const NodeId ahead = start(NodeId(v)).ahead;
  if (!ahead) return true;
  for (; region != Graph::kRoot; region = graph_.regions[region].parent)
    if (graph_.regions[region].owner == ahead) return false;
  return true;
}

}  // namespace cleave::planner
