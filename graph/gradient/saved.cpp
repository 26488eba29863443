#include "graph/gradient/saved.h"

#include <algorithm>
#include <set>

#include "graph/base/check.h"
#include "graph/vocabulary.h"

namespace cleave::gradients {
namespace {

/// Longest chain of operations that is computed again.
constexpr int kDeepest = 8;

/// Operations that cost no more than writing and reading their result would.
bool costs_little(const OpDef& op) {
  switch (op.cost_class) {
    case CostClass::bookkeeping:
    case CostClass::comparison:
    case CostClass::creation:
    case CostClass::movement:
    case CostClass::gather:
    case CostClass::random: return true;
    default: return false;
  }
}

}  // namespace

const SavedValues::OpenLoop* SavedValues::open_loop(NodeId loop) const {
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const OpenLoop& open) { return open.forward == loop; });
  return found == open_.rend() ? nullptr : &*found;
}

Part SavedValues::zeros(const TensorType& type) {
  return composer_(op::zeros, std::initializer_list<Part>{}, {{"shape", type.shape}, {"dtype", type.dtype}});
}

std::optional<std::int64_t> SavedValues::most_trips(NodeId loop) const {
  const Node& node = tracer_.graph().nodes[loop];
  for (const char* bound : {"count", "at_most"})
    if (const auto* trips = node.attributes.get_if<std::int64_t>(bound)) return *trips;
  return std::nullopt;
}

Part SavedValues::read(ValueId value) {
  const bool again = pinned(value);
  if (!again && tracer_.can_read(value)) return {tracer_, value};
  const Key key{value, tracer_.region()};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (!again) return known_.insert_or_assign(key, find(value)).first->second;
  for (const NodeId node : pinned_chain(tracer_.graph().values[value].producer)) {
    const Parts results = compute_again(node);
    for (std::size_t i = 0; i < results.size(); ++i)
      known_.insert_or_assign({tracer_.graph().nodes[node].results[i], key.region}, results[i]);
  }
  return known_.at(key);
}

/// Whether the user wants the value to be computed again for gradients.
bool SavedValues::pinned(ValueId value) const {
  const Recompute recompute = tracer_.graph().producer(value).recompute;
  return recompute == Recompute::always || recompute == Recompute::repetition;
}

/// The operation and those with this pin from which it is computed and that are not computed here yet, each behind its operands. They are
/// found without recursion, because the chain may be long.
std::vector<NodeId> SavedValues::pinned_chain(NodeId node) const {
  const Graph& graph = tracer_.graph();
  struct Step {
    NodeId node;
    std::size_t next = 0;  ///< operand
  };
  std::vector<NodeId> chain;
  std::set<NodeId> seen{node};
  std::vector<Step> path{{node}};
  while (!path.empty()) {
    Step& step = path.back();
    const std::vector<ValueId>& inputs = graph.nodes[step.node].inputs;
    if (step.next == inputs.size()) {
      chain.push_back(step.node);
      path.pop_back();
      continue;
    }
    const ValueId input = inputs[step.next++];
    const NodeId producer = graph.values[input].producer;
    if (pinned(input) && !known_.contains({input, tracer_.region()}) && seen.insert(producer).second) path.push_back({producer});
  }
  return chain;
}

Part SavedValues::find(ValueId value) {
  const Graph& graph = tracer_.graph();
  const Node& node = graph.producer(value);
  if (node.kind == NodeKind::constant) return composer_.constant(node.attributes.get<Array>("value"));
  const NodeId owner = graph.regions[graph.values[value].region].owner;
  if (node.kind == NodeKind::counter) {
    const OpenLoop* loop = open_loop(owner);
    CLEAVE_CHECK(loop, "a value of a loop that has no backward loop here");
    return loop->trip;
  }
  if (cheap(value, 0)) return compute_again(graph.values[value].producer).at(graph.values[value].result);
  if (graph.nodes[owner].kind == NodeKind::branch) return from_arm(value);
  const OpenLoop* loop = open_loop(owner);
  CLEAVE_CHECK(loop, "a value of a loop that has no backward loop here");
  return from_trip(value, *loop);
}

bool SavedValues::cheap(ValueId value, int depth) const {
  const Graph& graph = tracer_.graph();
  if (tracer_.can_read(value)) return true;
  const Node& node = graph.producer(value);
  if (node.kind == NodeKind::constant || node.kind == NodeKind::counter) return true;
  if (node.kind != NodeKind::operation || depth == kDeepest || node.recompute == Recompute::never) return false;
  if (node.op->purity_for(node.attributes) != Purity::pure || !costs_little(*node.op)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return cheap(input, depth + 1); });
}

Parts SavedValues::compute_again(NodeId id) {
  const Node node = tracer_.graph().nodes[id];
  Parts inputs;
  for (const ValueId input : node.inputs) inputs.push_back(read(input));
  Composer composer(tracer_, locations_.of(node.location));
  const bool again = pinned(node.results.at(0));  // marked, so that it is not merged with what it repeats
  if (again) tracer_.push_recompute(Recompute::repetition);
  if (node.pin.any()) tracer_.push_place(node.pin);
  const Parts results = composer.all(*node.op, inputs, node.attributes);
  if (node.pin.any()) tracer_.pop_place();
  if (again) tracer_.pop_recompute();
  return results;
}

/// The value as the other arm's zeros or this arm's result.
Part SavedValues::from_arm(ValueId value) {
  const RegionId arm = tracer_.graph().values[value].region;
  const NodeId branch = tracer_.graph().regions[arm].owner;
  const bool is_then = tracer_.graph().regions[arm].kind == RegionKind::then_arm;
  auto merged = merged_.find(value);
  if (merged == merged_.end()) {
    const TensorType type = tracer_.graph().values[value].type;
    tracer_.insert_at(tracer_.graph().nodes[branch].regions[is_then ? 1 : 0], NodeId());
    const Operand none = zeros(type).operand();
    tracer_.end_insertion();
    const Operand result = is_then ? tracer_.merge_more(branch, value, none) : tracer_.merge_more(branch, none, value);
    merged = merged_.emplace(value, result.value).first;
  }
  return read(merged->second);
}

Part SavedValues::trips_made(NodeId loop) {
  const Node& node = tracer_.graph().nodes[loop];
  const bool counted = node.kind == NodeKind::for_loop && !tracer_.graph().regions[node.regions[0]].predicate.valid();
  if (counted) {
    if (const auto* count = node.attributes.get_if<std::int64_t>("count")) return Part(*count);
    return composer_.as(DType::i32, read(node.inputs[0]));
  }
  auto known = trips_.find(loop);
  if (known == trips_.end()) {
    const auto zero = [&] { return composer_.constant(Array::scalar(std::int32_t{0})).operand(); };
    const Operand after = tracer_.carry_more(loop, zero, [&](const Operand& inside) {
      while_counters_.emplace(loop, inside.value);
      return composer_.add({tracer_, inside}, 1).operand();
    });
    known = trips_.emplace(loop, after.value).first;
  }
  return read(known->second);
}

/// The number of the trip, as the forward body sees it.
Part SavedValues::forward_counter(NodeId loop) {
  const Node& node = tracer_.graph().nodes[loop];
  if (node.kind == NodeKind::for_loop) {
    const NodeId counter = tracer_.graph().regions[node.regions[0]].nodes.front();
    return {tracer_, tracer_.graph().nodes[counter].results[0]};
  }
  return {tracer_, while_counters_.at(loop)};
}

/// An array with a row for each trip of the forward loop, which each trip fills with its `value`.
Part SavedValues::stack_of(ValueId value, NodeId loop) {
  auto known = stacks_.find(value);
  if (known == stacks_.end()) {
    TensorType type = tracer_.graph().values[value].type;
    const auto rank = static_cast<std::size_t>(type.rank());
    const std::optional<std::int64_t> most = most_trips(loop);
    CLEAVE_CHECK(most.has_value(), "a loop without bound");
    type.shape.insert(type.shape.begin(), std::max<std::int64_t>(*most, 1));  // a window of a row must fit
    const auto no_rows = [&] { return zeros(type).operand(); };
    const Operand after = tracer_.carry_more(loop, no_rows, [&](const Operand& inside) {
      Parts operands{{tracer_, inside}, {tracer_, value}, forward_counter(loop)};
      operands.insert(operands.end(), rank, Part(0));
      return composer_(op::dynamic_update_slice, operands).operand();
    });
    known = stacks_.emplace(value, after.value).first;
  }
  return read(known->second);
}

Part SavedValues::from_trip(ValueId value, const OpenLoop& loop) {
  const TensorType type = tracer_.graph().values[value].type;
  const Part trip = loop.trip;
  Parts operands{stack_of(value, loop.forward), trip};
  operands.insert(operands.end(), type.shape.size(), Part(0));
  std::vector<std::int64_t> sizes = type.shape;
  sizes.insert(sizes.begin(), 1);
  return composer_.reshape(composer_(op::dynamic_slice, operands, {{"sizes", sizes}}), type.shape);
}

}  // namespace cleave::gradients
