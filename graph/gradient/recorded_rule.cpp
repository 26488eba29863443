#include "graph/gradient/recorded_rule.h"

#include <algorithm>

#include "graph/vocabulary.h"

namespace cleave::gradients {
namespace {

void collect(const Graph& graph, NodeId id, std::set<NodeId>& found) {
  found.insert(id);
  for (const RegionId region : graph.nodes[id].regions)
    for (const NodeId inner : graph.regions[region].nodes) collect(graph, inner, found);
}

}  // namespace

bool is_operation(const Node& node, const OpDef& op) {
  return node.kind == NodeKind::operation && node.op == &op;
}

std::optional<RecordedRule> RecordedRule::find(const Graph& graph, NodeId call) {
  const Node& node = graph.nodes[call];
  const std::vector<NodeId>& nodes = graph.regions[node.region].nodes;
  RecordedRule rule;
  rule.call_ = call;
  rule.inside_.insert(call);
  for (auto next = std::find(nodes.begin(), nodes.end(), call); next != nodes.end(); ++next) {
    if (*next == call) continue;
    const Node& each = graph.nodes[*next];
    collect(graph, *next, rule.inside_);
    if (!is_operation(each, op::gradient_rule) || each.inputs.front() != node.results.front()) {
      rule.sequence_.push_back(*next);
      continue;
    }
    rule.gives_.assign(each.inputs.begin() + 1, each.inputs.end());
    return rule;
  }
  return std::nullopt;
}

RuleCopy::RuleCopy(Tracer& tracer, SavedValues& saved, GradientLocations& locations, const RecordedRule& rule)
    : tracer_(tracer), saved_(saved), locations_(locations), rule_(rule) {}

std::vector<Operand> RuleCopy::run(const std::vector<ValueId>& wanted, const std::vector<Operand>& cotangents) {
  const std::vector<ValueId> results = graph().nodes[rule_.call_].results;
  const std::size_t count = cotangents.size();  // behind the results stand their cotangents
  for (std::size_t i = 0; i < count; ++i) copies_.emplace(results[count + i], cotangents[i]);
  for (const ValueId value : wanted) need(value);
  need_effects(rule_.sequence_);
  read_from_outside();
  copy_nodes(rule_.sequence_);
  return copies_of(wanted);
}

void RuleCopy::need(ValueId value) {
  if (value.valid()) need(graph().values[value].producer);
}

void RuleCopy::need(NodeId id) {
  if (id == rule_.call_ || !rule_.contains(id) || !needed_.insert(id).second) return;
  const Node node = graph().nodes[id];
  for (const ValueId input : node.inputs) need(input);
  if (node.owner.valid()) need(node.owner);
  if (is_operation(node, op::custom_gradient)) {
    // A rule within the rule: differentiating the copy needs all of it.
    if (const auto inner = RecordedRule::find(graph(), id))
      for (const NodeId each : inner->nodes()) need(each);
  }
  for (const RegionId region : node.regions) {
    need(graph().regions[region].predicate);
    for (const NodeId inner : graph().regions[region].nodes) need(inner);
  }
  if (node.regions.empty()) return;
  for (const NodeId each : rule_.inside_)
    if (graph().nodes[each].owner == id) need(each);
}

void RuleCopy::need_effects(const std::vector<NodeId>& nodes) {
  std::set<NodeId> inner;  // rules within the rule do not happen in it
  for (const NodeId id : nodes) {
    const Node& node = graph().nodes[id];
    if (inner.contains(id)) continue;
    if (is_operation(node, op::custom_gradient)) {
      if (const auto rule = RecordedRule::find(graph(), id)) inner = rule->nodes();
      continue;
    }
    if (node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::effect) need(id);
    const std::vector<RegionId> regions = node.regions;
    for (const RegionId region : regions) need_effects(graph().regions[region].nodes);
  }
}

/// Reads all values of the forward part before anything is copied: saving them may record operations here.
void RuleCopy::read_from_outside() {
  std::set<ValueId> outside;
  const auto note = [&](ValueId value) {
    if (value.valid() && !copies_.contains(value) && !needed_.contains(graph().values[value].producer)) outside.insert(value);
  };
  for (const NodeId id : needed_) {
    for (const ValueId input : graph().nodes[id].inputs) note(input);
    for (const RegionId region : graph().nodes[id].regions) note(graph().regions[region].predicate);
  }
  for (const ValueId value : rule_.gives_) note(value);
  for (const ValueId value : outside) {
    const NodeId producer = graph().values[value].producer;
    if (!rule_.contains(producer) || producer == rule_.call_) copies_.insert_or_assign(value, saved_.read(value).operand());
  }
}

Operand RuleCopy::copy_of(ValueId value) const {
  const auto found = copies_.find(value);
  return found == copies_.end() ? Operand() : found->second;
}

std::vector<Operand> RuleCopy::copies_of(const std::vector<ValueId>& values) const {
  std::vector<Operand> copies;
  for (const ValueId value : values) copies.push_back(copy_of(value));
  return copies;
}

void RuleCopy::put(ValueId original, const Operand& copy) {
  tracer_.name(copy, graph().values[original].name);
  copies_.insert_or_assign(original, copy);
}

void RuleCopy::copy_nodes(const std::vector<NodeId>& nodes) {
  for (const NodeId id : std::vector<NodeId>(nodes))
    if (needed_.contains(id)) copy(id);
}

void RuleCopy::copy(NodeId id) {
  switch (graph().nodes[id].kind) {
    case NodeKind::constant: {
      const Node node = graph().nodes[id];
      return put(node.results[0], tracer_.constant(node.attributes.get<Array>("value"), locations_.of(node.location)));
    }
    case NodeKind::operation: return copy_operation(id);
    case NodeKind::for_loop:
    case NodeKind::while_loop: return copy_loop(id);
    case NodeKind::branch: return copy_branch(id);
    default: return;  // carried values, counters and merges belong to their loop or branch
  }
}

void RuleCopy::copy_operation(NodeId id) {
  const Node node = graph().nodes[id];
  if (node.pin.side != Side::none) tracer_.push_place(node.pin);
  tracer_.push_recompute(node.recompute);
  for (const Allowance& allowance : node.allowed) tracer_.push_allow(allowance);
  const std::vector<Operand> results = tracer_.apply(*node.op, copies_of(node.inputs), node.attributes, locations_.of(node.location));
  for (std::size_t i = 0; i < node.allowed.size(); ++i) tracer_.pop_allow();
  tracer_.pop_recompute();
  if (node.pin.side != Side::none) tracer_.pop_place();
  for (std::size_t i = 0; i < node.results.size() && i < results.size(); ++i) put(node.results[i], results[i]);
}

/// The carried or merge nodes of a control node.
std::vector<NodeId> RuleCopy::owned(NodeId control, RegionId region, NodeKind kind) const {
  std::vector<NodeId> found;
  for (const NodeId id : graph().regions[region].nodes)
    if (graph().nodes[id].kind == kind && graph().nodes[id].owner == control) found.push_back(id);
  return found;
}

void RuleCopy::copy_loop(NodeId id) {
  const Node node = graph().nodes[id];
  const SourceLocation location = locations_.of(node.location);
  const RegionId head = node.regions.front(), body = node.regions.back();
  const std::vector<NodeId> carried = owned(id, head, NodeKind::carried);
  const auto states = [&](std::size_t input) {
    std::vector<Tracer::State> found;
    for (const NodeId each : carried) {
      const Node& at = graph().nodes[each];
      found.push_back({graph().values[at.results[0]].name, copy_of(at.inputs[input]), locations_.of(at.location)});
    }
    return found;
  };
  const std::optional<double> expect = node.assumed ? std::nullopt : std::optional(node.expected);
  const auto* bound = node.attributes.get_if<std::int64_t>("at_most");
  const std::optional<std::int64_t> at_most = bound ? std::optional(*bound) : std::nullopt;
  Tracer::Loop loop;
  if (node.kind == NodeKind::for_loop) {
    const auto* known = node.attributes.get_if<std::int64_t>("count");
    const Operand count = known ? Part(*known).operand() : copy_of(node.inputs[0]);
    loop = tracer_.begin_for(count, states(0), location, known ? std::nullopt : expect, "", at_most);
    put(graph().nodes[graph().regions[body].nodes.front()].results[0], loop.counter);
  } else {
    loop = tracer_.begin_while(states(0), location, expect, at_most);
  }
  for (std::size_t i = 0; i < carried.size(); ++i) put(graph().nodes[carried[i]].results[0], loop.inside[i]);
  std::vector<Operand> after;
  if (node.kind == NodeKind::for_loop) {
    copy_nodes(graph().regions[body].nodes);
    const ValueId until = graph().regions[body].predicate;
    after = tracer_.end_for(states(1), until.valid() ? std::optional(copy_of(until)) : std::nullopt);
  } else {
    copy_nodes(graph().regions[head].nodes);
    tracer_.while_condition(copy_of(graph().regions[head].predicate), location);
    copy_nodes(graph().regions[body].nodes);
    after = tracer_.end_while(states(1));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) put(graph().nodes[carried[i]].results[1], after[i]);
}

void RuleCopy::copy_branch(NodeId id) {
  const Node node = graph().nodes[id];
  const std::vector<NodeId> merges = owned(id, node.region, NodeKind::merge);
  tracer_.begin_branch(copy_of(node.inputs[0]), locations_.of(node.location), node.assumed ? std::nullopt : std::optional(node.expected));
  std::vector<Tracer::State> arms[2];
  for (const std::size_t arm : {0, 1}) {
    if (arm == 1) tracer_.begin_otherwise();
    copy_nodes(graph().regions[node.regions[arm]].nodes);
    for (const NodeId each : merges) {
      const Node& at = graph().nodes[each];
      arms[arm].push_back({graph().values[at.results[0]].name, copy_of(at.inputs[arm]), locations_.of(at.location)});
    }
  }
  const std::vector<Operand> results = tracer_.end_branch(arms[0], arms[1]);
  for (std::size_t i = 0; i < merges.size(); ++i) put(graph().nodes[merges[i]].results[0], results[i]);
}

}  // namespace cleave::gradients
