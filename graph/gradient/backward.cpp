// Backward: one walk through the nodes against the dataflow, in an order that follows from the computation alone, so that contributions to
// a cotangent are added in the same order however independent statements stand. Inside of the backward loop or branch of a control node,
// cotangents of values from outside are carried values of the loop or results of the branch.
#include "graph/gradient/backward.h"

#include <algorithm>
#include <set>

#include "graph/base/check.h"
#include "graph/gradient/recorded_rule.h"
#include "graph/trace/gradient_call.h"
#include "graph/vocabulary.h"

namespace cleave::gradients {

/// An operation as its rule sees it.
class Backward::Call final : public GradientCall {
 public:
  Call(Backward& backward, Composer& composer, NodeId id)
      : backward_(backward), composer_(composer), node_(backward.tracer_.graph().nodes[id]) {
    for (const ValueId input : node_.inputs) operand_types_.push_back(graph().values[input].type);
    for (const ValueId result : node_.results) result_types_.push_back(graph().values[result].type);
  }

  [[nodiscard]] const Attributes& attributes() const override { return node_.attributes; }
  [[nodiscard]] std::size_t operands() const override { return node_.inputs.size(); }
  [[nodiscard]] const TensorType& operand_type(std::size_t i) const override { return operand_types_.at(i); }
  [[nodiscard]] const TensorType& result_type(std::size_t i) const override { return result_types_.at(i); }
  [[nodiscard]] bool wants(std::size_t i) const override { return backward_.active_[node_.inputs.at(i)]; }
  Part operand(std::size_t i) override { return backward_.saved_.read(node_.inputs.at(i)); }
  Part result(std::size_t i) override { return backward_.saved_.read(node_.results.at(i)); }
  [[nodiscard]] bool has_cotangent(std::size_t i) const override { return backward_.has(node_.results.at(i)); }
  Part cotangent(std::size_t i) override {
    const ValueId result = node_.results.at(i);
    return backward_.has(result) ? backward_.cotangents_.at(result) : backward_.zeros(result_type(i));
  }
  void give(std::size_t i, const Part& cotangent) override {
    if (wants(i)) backward_.add(node_.inputs.at(i), fitted(cotangent, operand_type(i)));
  }
  void give_into(std::size_t i, const std::function<Part(const Part&)>& change) override {
    if (!wants(i)) return;
    const ValueId input = node_.inputs.at(i);
    const Part before = backward_.has(input) ? backward_.cotangents_.at(input) : backward_.zeros(operand_type(i));
    backward_.cotangents_.insert_or_assign(input, fitted(change(before), operand_type(i)));
  }

 private:
  [[nodiscard]] const Graph& graph() const { return backward_.tracer_.graph(); }

  /// The cotangent summed over the axes along which the operand was broadcast, or broadcast itself, in the operand's type.
  Part fitted(const Part& given, const TensorType& type) {
    const Part part = composer_.as(type.dtype, given);
    const Shape& from = part.shape();
    if (from == type.shape) return part;
    if (broadcast(from, type.shape) == type.shape) return composer_(op::broadcast_to, {part}, {{"shape", type.shape}});
    const std::size_t added = from.size() - type.shape.size();
    std::vector<std::int64_t> summed;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      if (axis < added || (type.shape[axis - added] == 1 && from[axis] != 1)) summed.push_back(static_cast<std::int64_t>(axis));
    return composer_.reshape(composer_(op::sum, {part}, {{"axis", summed}}), type.shape);
  }

  Backward& backward_;
  Composer& composer_;
  Node node_;
  std::vector<TensorType> operand_types_, result_types_;
};

Backward::Backward(Tracer& tracer, const GradientRequest& request, const ActiveValues& active, const Dataflow& dataflow)
    : tracer_(tracer),
      request_(request),
      active_(active),
      dataflow_(dataflow),
      locations_(tracer.graph().nodes[request.call].location, gradient_label(tracer.graph().values[request.loss].name)),
      saved_(tracer, locations_, tracer.graph().nodes[request.call].location),
      composer_(tracer, locations_.of(tracer.graph().nodes[request.call].location)) {}

Part Backward::zeros(const TensorType& type) {
  return composer_(op::zeros, std::initializer_list<Part>{}, {{"shape", type.shape}, {"dtype", type.dtype}});
}

void Backward::add(ValueId value, const Part& cotangent) {
  const auto [at, fresh] = cotangents_.try_emplace(value, cotangent);
  if (!fresh) at->second = composer_.add(at->second, cotangent);
}

/// The cotangent as it is now, which is forgotten; zeros if there is none.
Part Backward::take_or_zeros(ValueId value) {
  const auto found = cotangents_.find(value);
  if (found == cotangents_.end()) return zeros(tracer_.graph().values[value].type);
  const Part part = found->second;
  cotangents_.erase(found);
  if (std::find(request_.asked.begin(), request_.asked.end(), value) != request_.asked.end()) taken_.insert_or_assign(value, part);
  return part;
}

Parts Backward::run() {
  const Graph& graph = tracer_.graph();
  const DType dtype = graph.values[request_.loss].type.dtype;
  if (active_[request_.loss]) add(request_.loss, composer_.as(dtype, Part(1.0)));
  // The regions that enclose the call, from the inside out. Nothing behind the call has a cotangent.
  for (RegionId region = graph.nodes[request_.call].region; region.valid(); region = graph.regions[region].parent) visit_region(region);
  composer_ = Composer(tracer_, locations_.of(graph.nodes[request_.call].location));
  Parts gradients;
  for (const ValueId asked : request_.asked) gradients.push_back(has(asked) ? cotangents_.at(asked) : zeros(graph.values[asked].type));
  return gradients;
}

void Backward::visit_region(RegionId region) {
  const std::vector<NodeId>& nodes = dataflow_.order(region);
  for (auto node = nodes.rbegin(); node != nodes.rend() && !failed_; ++node) visit(*node);
}

void Backward::visit(NodeId id) {
  switch (tracer_.graph().nodes[id].kind) {
    case NodeKind::operation: return visit_operation(id);
    case NodeKind::for_loop:
    case NodeKind::while_loop: return visit_loop(id);
    case NodeKind::branch: return visit_branch(id);
    default: return;
  }
}

void Backward::visit_operation(NodeId id) {
  const Node& node = tracer_.graph().nodes[id];
  const auto rule = node.op->gradient.trace();
  const auto wanted = [&](ValueId result) { return has(result); };
  const auto active = [&](ValueId input) { return active_[input]; };
  if (!rule || std::none_of(node.results.begin(), node.results.end(), wanted)) return;
  if (std::none_of(node.inputs.begin(), node.inputs.end(), active)) return;
  composer_ = Composer(tracer_, locations_.of(node.location));
  if (node.op == &op::custom_gradient) return visit_custom(id);
  Call call(*this, composer_, id);
  rule(composer_, call);
}

/// Copies the rule that the user recorded.
void Backward::visit_custom(NodeId id) {
  const Node node = tracer_.graph().nodes[id];
  const std::optional<RecordedRule> rule = RecordedRule::find(tracer_.graph(), id);
  std::vector<std::size_t> floating;
  const auto operands = static_cast<std::size_t>(node.attributes.get<std::int64_t>("operands"));
  for (std::size_t i = 0; i < operands; ++i)
    if (is_floating(tracer_.graph().values[node.inputs[i]].type.dtype)) floating.push_back(i);
  std::string wrong;
  if (!rule || rule->contains(request_.call))  // behind the place of insertion, the end of the rule is not seen
    wrong = "the gradient of a function asks for a gradient through its own results; take `stop_gradient` of them";
  else if (rule->gives().size() != floating.size())
    wrong = "`gradient_rule` gives " + std::to_string(rule->gives().size()) + " cotangents for " + std::to_string(floating.size()) +
            " operands";
  for (std::size_t i = 0; wrong.empty() && i < floating.size(); ++i)
    if (tracer_.graph().values[rule->gives()[i]].type != tracer_.graph().values[node.inputs[floating[i]]].type)
      wrong = "`gradient_rule` gives a cotangent of another type than the operand";
  if (!wrong.empty()) {
    tracer_.error(DiagnosticKind::unsupported, node.location, wrong);
    failed_ = true;
    return;
  }
  std::vector<Operand> cotangents;
  for (std::size_t i = 0; i < node.results.size() / 2; ++i) {
    const ValueId result = node.results[i];
    cotangents.push_back((has(result) ? cotangents_.at(result) : zeros(tracer_.graph().values[result].type)).operand());
  }
  std::vector<ValueId> wanted, inputs;
  for (std::size_t i = 0; i < floating.size(); ++i) {
    if (!active_[node.inputs[floating[i]]]) continue;
    wanted.push_back(rule->gives()[i]);
    inputs.push_back(node.inputs[floating[i]]);
  }
  const std::vector<Operand> gradients = RuleCopy(tracer_, saved_, locations_, *rule).run(wanted, cotangents);
  for (std::size_t i = 0; i < inputs.size(); ++i) add(inputs[i], {tracer_, gradients[i]});
}

bool Backward::within(RegionId region, NodeId control) const {
  const Graph& graph = tracer_.graph();
  for (; region.valid(); region = graph.regions[region].parent)
    if (graph.regions[region].owner == control) return true;
  return false;
}

std::vector<ValueId> Backward::read_from_outside(NodeId control) const {
  const Graph& graph = tracer_.graph();
  std::set<ValueId> found;
  std::vector<RegionId> work = graph.nodes[control].regions;
  while (!work.empty()) {
    const RegionId region = work.back();
    work.pop_back();
    for (const NodeId id : graph.regions[region].nodes) {
      const Node& node = graph.nodes[id];
      work.insert(work.end(), node.regions.begin(), node.regions.end());
      if (node.kind == NodeKind::operation && !node.op->gradient.trace()) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        const bool initial = node.kind == NodeKind::carried && i == 0 && node.owner == control;  // read in front of the loop
        if (!initial && active_[input] && !within(graph.values[input].region, control)) found.insert(input);
      }
    }
  }
  return {found.begin(), found.end()};
}

/// The carried or merge nodes of a control node through which activity reaches their result behind it.
std::vector<NodeId> Backward::owned(NodeId control, NodeKind kind) const {
  const Graph& graph = tracer_.graph();
  const Node& node = graph.nodes[control];
  std::vector<NodeId> found;
  const std::vector<NodeId>& nodes = graph.regions[kind == NodeKind::carried ? node.regions[0] : node.region].nodes;
  for (const NodeId id : nodes) {
    const Node& each = graph.nodes[id];
    const auto active = [&](ValueId input) { return active_[input]; };
    if (each.kind == kind && each.owner == control && std::any_of(each.inputs.begin(), each.inputs.end(), active)) found.push_back(id);
  }
  return found;
}

void Backward::visit_loop(NodeId id) {
  const std::vector<NodeId> carried = owned(id, NodeKind::carried);
  const auto wanted = [&](NodeId node) { return has(tracer_.graph().nodes[node].results[1]); };
  const bool inside = std::any_of(carried.begin(), carried.end(), wanted);
  if (!inside) return;
  composer_ = Composer(tracer_, locations_.of(tracer_.graph().nodes[id].location));
  const SourceLocation location = locations_.of(tracer_.graph().nodes[id].location);
  if (!saved_.most_trips(id)) {
    tracer_.error(DiagnosticKind::unsupported, tracer_.graph().nodes[id].location,
                  "the number of trips of this loop has no bound, which its gradient needs to save values; `at_most: N` states one");
    failed_ = true;
    return;
  }
  const std::vector<ValueId> outside = read_from_outside(id);
  std::vector<Tracer::State> states;
  for (const NodeId node : carried) states.push_back({"", take_or_zeros(tracer_.graph().nodes[node].results[1]).operand(), location});
  for (const ValueId value : outside) states.push_back({"", take_or_zeros(value).operand(), location});

  const Part trips = saved_.trips_made(id);
  const Node& forward = tracer_.graph().nodes[id];
  const std::optional<double> expect = forward.assumed || trips.operand().literal ? std::nullopt : std::optional(forward.expected);
  Cotangents around = std::exchange(cotangents_, {});
  const Tracer::Loop loop = tracer_.begin_for(trips.operand(), states, location, expect);
  const Part last = composer_.subtract(trips, 1);
  saved_.open({id, composer_.subtract(last, {tracer_, loop.counter})});
  for (std::size_t i = 0; i < outside.size(); ++i) cotangents_.insert_or_assign(outside[i], Part(tracer_, loop.inside[carried.size() + i]));
  for (std::size_t i = 0; i < carried.size(); ++i) add(tracer_.graph().nodes[carried[i]].inputs[1], {tracer_, loop.inside[i]});
  const std::vector<RegionId> regions = tracer_.graph().nodes[id].regions;
  std::for_each(regions.rbegin(), regions.rend(), [&](RegionId region) { visit_region(region); });  // a body, then its condition
  composer_ = Composer(tracer_, location);
  std::vector<Tracer::State> yielded;
  for (const NodeId node : carried) yielded.push_back({"", take_or_zeros(tracer_.graph().nodes[node].results[0]).operand(), location});
  for (const ValueId value : outside) yielded.push_back({"", take_or_zeros(value).operand(), location});
  saved_.close();
  const std::vector<Operand> after = tracer_.end_for(yielded);
  cotangents_ = std::move(around);
  for (std::size_t i = 0; i < outside.size(); ++i) cotangents_.insert_or_assign(outside[i], Part(tracer_, after[carried.size() + i]));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const ValueId initial = tracer_.graph().nodes[carried[i]].inputs[0];
    if (active_[initial]) add(initial, {tracer_, after[i]});
  }
}

void Backward::visit_branch(NodeId id) {
  std::vector<NodeId> merges = owned(id, NodeKind::merge);
  std::erase_if(merges, [&](NodeId node) { return !has(tracer_.graph().nodes[node].results[0]); });
  if (merges.empty()) return;
  composer_ = Composer(tracer_, locations_.of(tracer_.graph().nodes[id].location));
  const SourceLocation location = locations_.of(tracer_.graph().nodes[id].location);
  std::set<ValueId> outside;
  for (const ValueId value : read_from_outside(id)) outside.insert(value);
  std::vector<Part> given;
  for (const NodeId node : merges) {
    given.push_back(take_or_zeros(tracer_.graph().nodes[node].results[0]));
    for (const ValueId value : tracer_.graph().nodes[node].inputs)
      if (active_[value] && !within(tracer_.graph().values[value].region, id)) outside.insert(value);
  }
  const Node forward = tracer_.graph().nodes[id];
  const Part predicate = saved_.read(forward.inputs[0]);
  const Cotangents around = cotangents_;
  tracer_.begin_branch(predicate.operand(), location, forward.assumed ? std::nullopt : std::optional(forward.expected));
  std::vector<Tracer::State> arms[2];
  for (const std::size_t arm : {0, 1}) {
    if (arm == 1) tracer_.begin_otherwise();
    cotangents_ = around;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const ValueId value = tracer_.graph().nodes[merges[i]].inputs[arm];
      if (active_[value]) add(value, given[i]);
    }
    visit_region(forward.regions[arm]);
    composer_ = Composer(tracer_, location);
    for (const ValueId value : outside) arms[arm].push_back({"", take_or_zeros(value).operand(), location});
  }
  const std::vector<Operand> results = tracer_.end_branch(arms[0], arms[1]);
  cotangents_ = around;
  std::size_t next = 0;
  for (const ValueId value : outside) cotangents_.insert_or_assign(value, Part(tracer_, results[next++]));
}

}  // namespace cleave::gradients
