// Tracer: goes on in a finished graph. Passes that write operations use this, so that what they write obeys the same rules as what a user
// writes.
#include <algorithm>

#include "graph/trace/tracer_state.h"

namespace cleave {

void Tracer::State_::insert_at(RegionId where, NodeId before) {
  std::vector<NodeId>& nodes = graph.regions[where].nodes;
  const auto at = before.valid() ? std::find(nodes.begin(), nodes.end(), before) : nodes.end();
  CLEAVE_CHECK(!before.valid() || at != nodes.end(), "a node of another region");
  if (!frames.empty()) out_of_order = true;
  Insertion insertion{region, where, std::vector<NodeId>(at, nodes.end()), std::move(open)};
  nodes.erase(at, nodes.end());
  insertions.push_back(std::move(insertion));
  open.assign(graph.regions.size(), false);
  for (RegionId id = where; id.valid(); id = graph.regions[id].parent) open[id.index] = true;
  region = where;
}

void Tracer::State_::end_insertion() {
  CLEAVE_CHECK(!insertions.empty(), "nothing to end");
  Insertion insertion = std::move(insertions.back());
  insertions.pop_back();
  std::vector<NodeId>& nodes = graph.regions[insertion.where].nodes;
  nodes.insert(nodes.end(), insertion.behind.begin(), insertion.behind.end());
  region = insertion.from;
  open = std::move(insertion.open);
  open.resize(graph.regions.size(), false);
}

Tracer::Tracer(Graph graph) : state_(std::make_unique<State_>()) {
  state_->graph = std::move(graph);
  state_->open.assign(state_->graph.regions.size(), false);
  state_->open[Graph::kRoot.index] = true;
}

void Tracer::insert_at(RegionId region, NodeId before) {
  state_->insert_at(region, before);
}

void Tracer::end_insertion() {
  state_->end_insertion();
}

Operand Tracer::carry_more(NodeId loop, const std::function<Operand()>& initial,
                           const std::function<Operand(const Operand& inside)>& next) {
  State_& s = *state_;
  const SourceLocation location = s.graph.nodes[loop].location;
  const RegionId outer = s.graph.nodes[loop].region;
  const RegionId head = s.graph.nodes[loop].regions.front(), body = s.graph.nodes[loop].regions.back();
  s.insert_at(outer, loop);
  const ValueId first = s.materialize(initial(), location, std::nullopt, outer);
  s.end_insertion();
  const TensorType type = s.graph.values[first].type;
  // Carried nodes stand at the head of the body or condition, behind the counter.
  const std::vector<NodeId>& nodes = s.graph.regions[head].nodes;
  const auto is_head = [&](NodeId id) {
    return s.graph.nodes[id].kind == NodeKind::counter || s.graph.nodes[id].kind == NodeKind::carried;
  };
  const auto behind = std::find_if_not(nodes.begin(), nodes.end(), is_head);
  s.insert_at(head, behind == nodes.end() ? NodeId() : *behind);
  const NodeId id = s.add_node(NodeKind::carried, head, location);
  s.graph.nodes[id].owner = loop;
  s.graph.nodes[id].inputs = {first};
  const ValueId inside = s.add_result(id, type, head), after = s.add_result(id, type, outer);
  s.end_insertion();
  s.insert_at(body, NodeId());
  const ValueId yielded = s.materialize(next(inside), location, type.dtype, body);
  s.end_insertion();
  CLEAVE_CHECK(yielded.valid() && s.graph.values[yielded].type == type, "a carried value changes its type");
  s.graph.nodes[id].inputs.push_back(yielded);
  return after;
}

Operand Tracer::merge_more(NodeId branch, const Operand& from_then, const Operand& from_otherwise) {
  State_& s = *state_;
  const Node& node = s.graph.nodes[branch];
  const SourceLocation location = node.location;
  const RegionId outer = node.region, arms[] = {node.regions[0], node.regions[1]};
  ValueId values[2];
  for (const int arm : {0, 1}) {
    s.insert_at(arms[arm], NodeId());
    values[arm] = s.materialize(arm == 0 ? from_then : from_otherwise, location, std::nullopt, arms[arm]);
    s.end_insertion();
  }
  const TensorType type = s.graph.values[values[0]].type;
  CLEAVE_CHECK(type == s.graph.values[values[1]].type, "the arms of a branch give different types");
  std::vector<NodeId>& nodes = s.graph.regions[outer].nodes;
  const auto at = std::find(nodes.begin(), nodes.end(), branch);
  CLEAVE_CHECK(at != nodes.end(), "the branch is behind the place of insertion");
  s.insert_at(outer, at + 1 == nodes.end() ? NodeId() : *(at + 1));
  const NodeId id = s.add_node(NodeKind::merge, outer, location);
  s.graph.nodes[id].owner = branch;
  s.graph.nodes[id].inputs = {values[0], values[1]};
  const ValueId result = s.add_result(id, type, outer);
  s.end_insertion();
  return result;
}

bool Tracer::can_read(ValueId value) const {
  return state_->open[state_->graph.values[value].region.index];
}

RegionId Tracer::region() const {
  return state_->region;
}

Graph Tracer::release() {
  CLEAVE_CHECK(state_->insertions.empty() && state_->frames.empty(), "an insertion has not ended");
  return std::move(state_->graph);
}

}  // namespace cleave
