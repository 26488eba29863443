#include "partitioner/apply/host_flow.h"

#include <algorithm>

#include "graph/states.h"
#include "graph/trips.h"

namespace cleave::planner {
namespace {

using Vertex = HostFlow::Vertex;

/// Marks `pending` and all vertices that `next(vertex, visit)` reaches from there.
template <class Next>
void spread(std::vector<std::uint8_t>& marks, std::vector<Vertex> pending, Next&& next) {
  for (const Vertex v : pending) marks[v] = 1;
  while (!pending.empty()) {
    const Vertex v = pending.back();
    pending.pop_back();
    next(v, [&](Vertex other) {
      if (marks[other]) return;
      marks[other] = 1;
      pending.push_back(other);
    });
  }
}

void sort_links(std::vector<HostFlow::Link>& links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

}  // namespace

HostFlow::HostFlow(const Graph& graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers)
    : graph_(graph), uses_(uses), placement_(placement), transfers_(transfers), deliveries_(graph, uses, placement, transfers.items) {
  find_states();
  find_accelerator_work();
  find_arrivals();
  find_returns();
  spread_forward();
  find_needs();
}

std::span<const HostFlow::Link> HostFlow::of(const std::vector<Link>& links, Vertex v) {
  const auto first = std::lower_bound(links.begin(), links.end(), Link(v, 0));
  const auto last = std::find_if(first, links.end(), [&](const Link& link) { return link.first != v; });
  return {first, last};
}

/// Whether the loop may run zero times, so that the initial value may be the final one.
bool HostFlow::passes_initial(NodeId carried) const {
  return !has_trip(graph_.nodes[graph_.nodes[carried].owner]);
}

/// A state acts like a loop-carried value of a loop around the program, since runs follow one another. A state that no run changes is left
/// out.
void HostFlow::find_states() {
  for (const GraphState& state : states_of(graph_)) {
    if (state.fixed() || !on(state.leaf, kHost)) continue;
    next_.emplace(state.value, state.next);
    hands_on_[state.next].push_back(state.value);
  }
}

/// Marks operations and values on the accelerator on which an operation that only the accelerator computes depends. This leaves out a
/// scalar behind a predicate, which has copies on both sides, and carried or merged values that the accelerator never reads.
void HostFlow::find_accelerator_work() {
  accelerator_work_.assign(size(), 0);
  std::vector<Vertex> ends;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[NodeId(i)].kind == NodeKind::operation && on(NodeId(i), kAccelerator) && !on(NodeId(i), kHost))
      ends.push_back(static_cast<Vertex>(i));
  }
  const auto visit_source = [&](ValueId from, auto&& visit) {
    const NodeId producer = graph_.values[from].producer;
    if (!on(producer, kAccelerator)) return;
    const NodeKind kind = graph_.nodes[producer].kind;
    if (kind == NodeKind::operation) visit(static_cast<Vertex>(producer.index));
    if (kind == NodeKind::carried || kind == NodeKind::merge) visit(vertex(from));
  };
  spread(accelerator_work_, ends, [&](Vertex v, auto&& visit) {
    if (operation(v)) {
      for (const ValueId input : graph_.nodes[NodeId(v)].inputs) visit_source(input, visit);
    } else {
      for_each_source(node(v), graph_.values[value(v)].result, [&](ValueId from, UseKind) { visit_source(from, visit); });
    }
  });
}

bool HostFlow::works_on_accelerator(NodeId id) const {
  const Node& node = graph_.nodes[id];
  if (!on(id, kAccelerator)) return false;
  if (node.kind == NodeKind::operation) return accelerator_work_[id.index] != 0;
  return (node.kind == NodeKind::carried || node.kind == NodeKind::merge) &&
         std::any_of(node.results.begin(), node.results.end(), [&](ValueId result) { return accelerator_work_[vertex(result)] != 0; });
}

bool HostFlow::is_accelerator_work(const ValueUse& use) const {
  if (use.host_only() || !on(use.node, kAccelerator)) return false;
  bool work = false;
  for_each_target(use, [&](Vertex v) { work = work || accelerator_work_[v]; });
  return work;
}

void HostFlow::find_arrivals() {
  for (std::size_t t = 0; t < transfers_.items.size(); ++t) {
    if (transfers_.items[t].to != kHost) continue;
    for (const ValueUse& use : deliveries_.of(t)) {
      if (!use.host_only()) for_each_target(use, [&](Vertex v) { arrivals_.emplace_back(v, t); });
    }
  }
  sort_links(arrivals_);
}

void HostFlow::find_returns() {
  brings_work_.assign(transfers_.items.size(), 0);
  for (std::size_t t = 0; t < transfers_.items.size(); ++t) {
    if (transfers_.items[t].to == kHost) continue;
    const auto uses = deliveries_.of(t);
    brings_work_[t] = std::any_of(uses.begin(), uses.end(), [&](const ValueUse& use) { return is_accelerator_work(use); });
    with_source(transfers_.items[t].value, [&](Vertex v) { returns_.emplace_back(v, t); });
  }
  sort_links(returns_);
}

void HostFlow::spread_forward() {
  from_accelerator_.assign(size(), 0);
  std::vector<Vertex> starts;
  for (const auto& [v, transfer] : arrivals_) starts.push_back(v);
  spread(from_accelerator_, starts, [&](Vertex v, auto&& visit) { for_each_next(v, [&](Vertex next, UseKind) { visit(next); }); });
}

/// Walks backward from accelerator work to all host work that it needs: along data, from control nodes to their predicates and counts, and
/// from an effect to the effects before it.
class HostFlow::Needs {
 public:
  explicit Needs(HostFlow& flow) : flow_(flow), graph_(flow.graph_), decides_(flow.graph_.nodes.size(), 0) {}

  void find() {
    for (const auto& [v, transfer] : flow_.returns_) {
      if (flow_.brings_work(transfer)) need(v);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id(i);
      const Node& node = graph_.nodes[id];
      if (!flow_.works_on_accelerator(id)) continue;
      if (node.kind == NodeKind::merge) decide(node.owner);
      decide_around(node.region);
    }
    follow();
    // First find the effects needed for their results (`awaited_`); all others are needed only because they precede these.
    for (const NodeId effect : flow_.effects_) {
      if (flow_.needed_[effect.index]) flow_.awaited_.push_back(effect);
    }
    for (std::size_t before = flow_.effects_.size() + 1; before != ordered_;) {
      before = ordered_;
      for (const NodeId effect : flow_.effects_) {
        if (flow_.needed_[effect.index]) need_effects_before(effect);
      }
      follow();
    }
    sort_links(flow_.decisions_);
  }

 private:
  void follow() {
    while (!pending_.empty()) {
      const Vertex v = pending_.back();
      pending_.pop_back();
      flow_.for_each_previous(v, [&](Vertex previous, UseKind) { need(previous); });
      const NodeId id = flow_.node(v);
      const Node& node = graph_.nodes[id];
      decide_around(node.region);
      if (node.kind == NodeKind::merge) decide(node.owner);
    }
  }
  void need(Vertex v) {
    if (flow_.needed_[v]) return;
    flow_.needed_[v] = 1;
    pending_.push_back(v);
  }
  void decide_around(RegionId region) {
    for (; region != Graph::kRoot; region = graph_.regions[region].parent) {
      if (decides_[graph_.regions[region].owner.index]) return;  // then those around it are done too
      decide(graph_.regions[region].owner);
    }
  }
  void decide(NodeId control) {
    if (decides_[control.index]) return;
    decides_[control.index] = 1;
    if (!flow_.on(control, kHost)) return decide_around(graph_.nodes[control].region);  // the accelerator decides
    flow_.for_each_decider(control, [&](ValueId decider) {
      flow_.with_source(decider, [&](Vertex v) {
        flow_.decisions_.emplace_back(v, control.index);
        need(v);
      });
    });
    decide_around(graph_.nodes[control].region);
  }
  /// Marks all effects before this one as needed, and in a loop also those behind it, which precede it in the next iteration.
  void need_effects_before(NodeId effect) {
    std::int64_t until = flow_.uses_.begin(effect);
    for (RegionId region = graph_.nodes[effect].region; region != Graph::kRoot; region = graph_.regions[region].parent) {
      const NodeId owner = graph_.regions[region].owner;
      if (graph_.nodes[owner].kind != NodeKind::branch) until = flow_.uses_.end(owner);
    }
    for (; ordered_ < flow_.effects_.size() && flow_.uses_.begin(flow_.effects_[ordered_]) <= until; ++ordered_)
      need(static_cast<Vertex>(flow_.effects_[ordered_].index));
  }

  HostFlow& flow_;
  const Graph& graph_;
  Marks decides_;            ///< by control node: its predicates and counts are needed
  std::size_t ordered_ = 0;  ///< how many of `effects_` are needed because of their order
  std::vector<Vertex> pending_;
};

void HostFlow::find_needs() {
  needed_.assign(size(), 0);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const NodeId id(i);
    if (graph_.nodes[id].host_function() && graph_.purity(id) == Purity::effect) effects_.push_back(id);
  }
  std::sort(effects_.begin(), effects_.end(), [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
  Needs(*this).find();
}

NodeId HostFlow::delays(NodeId effect) const {
  const auto next =
      std::upper_bound(awaited_.begin(), awaited_.end(), effect, [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
  if (next != awaited_.end()) return *next;
  return awaited_.empty() ? NodeId() : awaited_.front();  // in the next iteration
}

}  // namespace cleave::planner
