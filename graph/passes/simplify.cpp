// One walk in program order folds constants and merges equal nodes; one search from the roots finds what lives. No node moves, so
// whatever a result was before, it is there at the same place or not at all.
#include "graph/passes/simplify.h"

#include <algorithm>

#include "graph/passes/equal_nodes.h"
#include "graph/passes/renumber.h"
#include "graph/passes/verify.h"

namespace cleave {
namespace {

constexpr std::int64_t kFoldElements = 4096;

bool calls_function(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const auto& item) { return std::holds_alternative<std::shared_ptr<const HostFunction>>(item.second); });
}

bool pure_operation(const Node& node) {
  return node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure;
}

class Simplifier {
 public:
  explicit Simplifier(Graph graph) : graph_(std::move(graph)), reads_(graph_.values.size()), equal_(graph_) {
    for (std::size_t i = 0; i < reads_.size(); ++i) reads_[ValueId(i)] = ValueId(i);
  }

  Graph run() {
    fold_and_merge();
    redirect();
    find_live();
    return in_program_order(std::move(graph_), &live_);
  }

 private:
  void fold_and_merge();
  void visit(NodeId id);
  void fold(Node& node);
  void redirect();
  void find_live();
  void mark(NodeId node) {
    if (node.valid() && !live_[node]) {
      live_[node] = true;
      work_.push_back(node);
    }
  }
  void mark(ValueId value) {
    if (value.valid()) mark(graph_.values[value].producer);
  }

  Graph graph_;
  IdVector<ValueId, ValueId> reads_;  ///< what to read in place of a value
  EqualNodes equal_;                  ///< of the regions that are open during the walk
  IdVector<NodeId, bool> live_;
  std::vector<NodeId> work_;
};

/// The walk: a region's nodes in order, behind a control node its regions. A while's condition stays open beside its body.
void Simplifier::fold_and_merge() {
  for (RegionId region; NodeId node : program_order(graph_).nodes) {
    const RegionId next = graph_.nodes[node].region;
    while (region.valid() && region != next && !graph_.within(next, region)) {
      equal_.close(region);
      region = graph_.regions[region].parent;
    }
    region = next;
    visit(node);
  }
}

void Simplifier::visit(NodeId id) {
  Node& node = graph_.nodes[id];
  // A carried node's yielded value comes later; nothing here asks for it.
  for (ValueId& input : node.inputs) input = reads_[input];
  fold(node);
  if (node.kind != NodeKind::constant && !pure_operation(node)) return;
  const NodeId same = equal_.find_or_add(id);
  if (same == id) return;
  for (std::size_t i = 0; i < node.results.size(); ++i) reads_[node.results[i]] = graph_.nodes[same].results[i];
}

/// A pure operation on constants becomes a constant, unless that would make more data of little.
void Simplifier::fold(Node& node) {
  if (!pure_operation(node) || node.pin != Side::none || node.op->moves_to != Side::none || calls_function(node)) return;
  if (node.inputs.empty() || node.results.size() != 1) return;
  const TensorType type = graph_.values[node.results[0]].type;
  if (type.elements() > kFoldElements) return;
  std::vector<Array> inputs;
  std::int64_t bytes = 8;
  for (ValueId input : node.inputs) {
    const Node& producer = graph_.producer(input);
    if (producer.kind != NodeKind::constant) return;
    inputs.push_back(producer.attributes.get<Array>("value"));
    bytes += inputs.back().type().bytes();
  }
  if (type.bytes() > bytes) return;
  Array result(type);
  const OpContext context{[](std::string_view) {}};
  // What fails here fails at run time, with the user's line.
  if (!node.op->meaning({node.attributes, inputs, {&result, 1}, context}).ok() || result.type() != type) return;
  node.kind = NodeKind::constant;
  node.op = nullptr;
  node.inputs.clear();
  node.attributes = {};
  node.attributes.set("value", std::move(result));
}

void Simplifier::redirect() {
  for (Node& node : graph_.nodes)
    for (ValueId& input : node.inputs) input = reads_[input];
  for (Region& region : graph_.regions)
    if (region.predicate.valid()) region.predicate = reads_[region.predicate];
  for (Output& output : graph_.outputs) output.value = reads_[output.value];
}

/// What effects, outputs and the program's face need. A carried value lives only if something else reads it, and so do the nodes that
/// feed it; a loop or branch lives if anything in it does, or its merges.
void Simplifier::find_live() {
  live_.resize(graph_.nodes.size(), false);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[NodeId(i)];
    const bool face = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
    if (face || graph_.purity(NodeId(i)) == Purity::effect) mark(NodeId(i));
  }
  for (const Output& output : graph_.outputs) mark(output.value);
  while (!work_.empty()) {
    const Node& node = graph_.nodes[work_.back()];
    work_.pop_back();
    mark(node.owner);
    mark(graph_.regions[node.region].owner);
    for (ValueId input : node.inputs) mark(input);
    for (RegionId region : node.regions) {
      mark(graph_.regions[region].predicate);
      if (graph_.regions[region].kind == RegionKind::for_body) mark(graph_.regions[region].nodes.front());  // the counter
    }
  }
}

}  // namespace

Graph simplify(const Graph& graph) {
  CLEAVE_CHECK(graph.ok(), "a graph with errors is for reporting only");
  Graph result = Simplifier(graph).run();
#ifndef NDEBUG
  CLEAVE_CHECK(verify(result).empty(), "simplify built a malformed graph");
#endif
  return result;
}

}  // namespace cleave
