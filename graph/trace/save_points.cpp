#include "graph/trace/save_points.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/array/array.h"
#include "graph/host_function.h"
#include "graph/passes/renumber.h"
#include "graph/states.h"
#include "graph/trace/tracer.h"
#include "graph/vocabulary.h"
#include "graph/written.h"

namespace cleave {
namespace {

Operand whole(std::int64_t number) {
  return Literal{Literal::Type::integer, number};
}

std::vector<NodeId> carried_nodes(const Graph& graph, NodeId loop) {
  std::vector<NodeId> carried;
  for (const NodeId id : graph.regions[graph.nodes[loop].regions[0]].nodes)
    if (graph.nodes[id].kind == NodeKind::carried) carried.push_back(id);
  return carried;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "`" : i + 1 == names.size() ? " and `" : ", `") + names[i] + "`";
  return text;
}

/// Whether a state, which this loop does not carry, is saved with the value that it had at the start of the run: a count of the passes of
/// `batches` (Tracer::count_entries). What the program computes of it in front of the loop is then the same in the run that goes on.
bool keeps_start(const Graph& graph, const GraphState& state, const std::vector<NodeId>& carried) {
  const auto starts = [&](NodeId id) { return graph.nodes[id].inputs[0] == state.value; };
  return graph.nodes[state.leaf].attributes.get_or<bool>("hidden", false) && std::none_of(carried.begin(), carried.end(), starts);
}

/// The states that a loop does not carry: their initial values are not those of its carried values.
std::vector<std::string> states_outside(const Graph& graph, const std::vector<GraphState>& states, NodeId loop) {
  const std::vector<NodeId> carried = carried_nodes(graph, loop);
  std::vector<std::string> names;
  for (const GraphState& state : states) {
    const auto starts = [&](NodeId id) { return graph.nodes[id].inputs[0] == state.value; };
    if (!state.fixed() && !keeps_start(graph, state, carried) && std::none_of(carried.begin(), carried.end(), starts))
      names.push_back(graph.values[state.value].name);
  }
  return names;
}

Result<NodeId> outermost_loop(const Graph& graph, const std::vector<GraphState>& states) {
  std::optional<Error> refused;
  for (const NodeId id : graph.regions[Graph::kRoot].nodes) {
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::for_loop && node.kind != NodeKind::while_loop) continue;
    if (node.kind == NodeKind::while_loop) {
      if (!refused) refused = Error{"states are saved on the way in a `for`, and this loop is a `while`", node.location};
      continue;
    }
    const std::vector<std::string> outside = states_outside(graph, states, id);
    if (outside.empty()) return id;
    if (!refused)
      refused = Error{
          "states are saved on the way in the outermost loop, which must carry all of them; this one does not carry " + listed(outside),
          node.location};
  }
  if (refused) return *std::move(refused);
  return Error{"the program has no loop in which its states could be saved on the way", {}, ErrorKind::usage};
}

/// Which values outside of the loop follow from the initial values of states, and where they are used: a run that begins in the middle has
/// other initial values.
class InitialValues {
 public:
  InitialValues(const Graph& graph, const std::vector<GraphState>& states, NodeId loop)
      : graph_(graph), loop_(loop), follows_(graph.values.size()) {
    const std::vector<NodeId> carried = carried_nodes(graph, loop);
    for (const GraphState& state : states) follows_[state.value] = !state.fixed() && !keeps_start(graph, state, carried);
  }

  Status check() {
    for (const NodeId id : graph_.regions[Graph::kRoot].nodes) {
      if (id == loop_) {
        behind_ = true;
        if (std::optional<ValueId> used = used_by(id)) return refuse(*used);
      } else if (std::optional<ValueId> used = used_by(id); used && behind_) {
        return refuse(*used);
      } else if (used) {
        mark_results(id);
      }
    }
    for (const Output& output : graph_.outputs)
      if (follows_[output.value]) return refuse(output.value);
    return {};
  }

 private:
  /// The first of the values that a node of the root uses, also in its regions.
  [[nodiscard]] std::optional<ValueId> used_by(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const bool initial_only = node.kind == NodeKind::carried && node.owner == loop_;
    for (std::size_t i = initial_only ? 1 : 0; i < node.inputs.size(); ++i)
      if (follows_[node.inputs[i]]) return node.inputs[i];
    for (const RegionId region : node.regions) {
      if (const ValueId predicate = graph_.regions[region].predicate; predicate.valid() && follows_[predicate]) return predicate;
      for (const NodeId inside : graph_.regions[region].nodes)
        if (std::optional<ValueId> used = used_by(inside)) return used;
    }
    return std::nullopt;
  }
  void mark_results(NodeId id) {
    for (const ValueId result : graph_.nodes[id].results) follows_[result] = true;
    if (!is_control(graph_.nodes[id].kind)) return;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)  // carried values and merges
      if (graph_.nodes[NodeId(i)].owner == id)
        for (const ValueId result : graph_.nodes[NodeId(i)].results) follows_[result] = graph_.values[result].region == Graph::kRoot;
  }
  [[nodiscard]] Status refuse(ValueId value) const {
    const std::string& name = graph_.values[value].name;
    const std::string what = name.empty() ? "`" + written(graph_, graph_.values[value].producer) + "`" : "`" + name + "`";
    return Error{"a run cannot go on in the middle of this loop: " + what +
                     " follows from the initial value of a state, and is used in the loop or behind it; compute it from the carried value",
                 graph_.nodes[loop_].location};
  }

  const Graph& graph_;
  const NodeId loop_;
  IdVector<ValueId, bool> follows_;
  bool behind_ = false;
};

class SavePointWriter {
 public:
  SavePointWriter(const Graph& graph, std::vector<GraphState> states, NodeId loop, std::int64_t every)
      : tracer_(graph), states_(std::move(states)), loop_(loop), every_(every), at_(graph.nodes[loop].location) {
    points_.hook = std::make_shared<SaveHook>();
    points_.ends_with_loop = true;
  }

  SavePoints write() {
    const RegionId body = graph().nodes[loop_].regions[0];
    choose_values();
    write_start();
    const std::vector<NodeId>& nodes = graph().regions[body].nodes;
    const auto behind = std::find_if_not(nodes.begin(), nodes.end(), [&](NodeId id) {
      return graph().nodes[id].kind == NodeKind::counter || graph().nodes[id].kind == NodeKind::carried;
    });
    const ValueId counter = graph().nodes[nodes.front()].results[0];
    tracer_.insert_at(body, behind == nodes.end() ? NodeId() : *behind);
    const Operand trip = tracer_.call(op::add, std::vector<Operand>{counter, start_}, {}, at_);
    tracer_.end_insertion();
    if (every_ > 0) {
      tracer_.insert_at(body, NodeId());
      write_branch(body, trip);
      tracer_.end_insertion();
    }
    const NodeId adds = graph().values[trip.value].producer;
    Graph written = tracer_.release();
    for (std::size_t i = 0; i < written.nodes.size(); ++i) {
      if (NodeId(i) == adds) continue;
      std::vector<ValueId>& inputs = written.nodes[NodeId(i)].inputs;
      std::replace(inputs.begin(), inputs.end(), counter, trip.value);
    }
    std::swap(written.values[counter].name, written.values[trip.value].name);
    Node& loop = written.nodes[loop_];
    loop.inputs = {rest_};
    loop.attributes.erase("count");
    for (const auto& [carried, initial] : initial_) written.nodes[carried].inputs[0] = initial;
    points_.graph = in_program_order(std::move(written));
    return std::move(points_);
  }

 private:
  [[nodiscard]] const Graph& graph() const { return tracer_.graph(); }
  Operand apply(const OpDef& op, std::vector<Operand> inputs) { return tracer_.call(op, inputs, {}, at_); }

  /// Decides what is saved, under which names.
  void choose_values() {
    const std::vector<NodeId> carried = carried_nodes(graph(), loop_);
    std::vector<NodeId> others = carried;
    for (const GraphState& state : states_) {
      points_.values.push_back(graph().values[state.value].name);
      const bool start = keeps_start(graph(), state, carried);
      if (state.fixed() || start) {
        saved_.push_back(state.value);
        points_.ends_with_loop &= !start;
        continue;
      }
      const auto starts = [&](NodeId id) { return graph().nodes[id].inputs[0] == state.value; };
      auto own =
          std::find_if(others.begin(), others.end(), [&](NodeId id) { return starts(id) && graph().nodes[id].results[1] == state.next; });
      if (own == others.end()) {
        points_.ends_with_loop = false;
        own = std::find_if(others.begin(), others.end(), starts);
      }
      if (own == others.end()) continue;
      saved_.push_back(graph().nodes[*own].inputs[1]);
      others.erase(own);
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Node& node = graph().nodes[others[i]];
      std::string name = std::string(kCarriedName) + graph().values[node.results[0]].name;
      if (name == kCarriedName || std::find(points_.values.begin(), points_.values.end(), name) != points_.values.end())
        name += "#" + std::to_string(i);
      points_.values.push_back(name);
      saved_.push_back(node.inputs[1]);
      restored_.emplace_back(others[i], name);
    }
  }

  /// In front of the loop: how many trips are left, and the initial values of carried values that are no states.
  void write_start() {
    const auto leaf = [&](std::string_view name, const TensorType& type) {
      Attributes attributes;
      if (type.dtype == DType::boolean)
        attributes.set("value", Array(type));
      else
        attributes.set("value", 0.0);
      return tracer_.parameter(std::string(name), type, std::move(attributes), at_);
    };
    tracer_.insert_at(Graph::kRoot, loop_);
    start_ = leaf(kTripsDone, {DType::i32, {}});
    const Node& loop = graph().nodes[loop_];
    count_ = loop.inputs.empty() ? whole(loop.attributes.get<std::int64_t>("count")) : Operand(loop.inputs[0]);
    rest_ = apply(op::subtract, {count_, start_}).value;
    for (const auto& [carried, name] : restored_) {
      const ValueId before = graph().nodes[carried].inputs[0];
      const Operand saved = leaf(name, graph().values[before].type), begun = apply(op::greater, {start_, whole(0)});
      initial_.emplace_back(carried, apply(op::where, {begun, saved, before}).value);
    }
    tracer_.end_insertion();
  }

  void write_branch(RegionId body, const Operand& trip) {
    const Operand done = apply(op::add, {trip, whole(1)});
    const ValueId until = graph().regions[body].predicate;
    Operand saves = apply(op::equal, {apply(op::remainder, {done, whole(every_)}), whole(0)});
    saves = apply(op::logical_or, {saves, apply(op::greater_equal, {done, count_})});
    if (until.valid()) saves = apply(op::logical_or, {saves, until});
    tracer_.begin_branch(saves, at_, 1.0 / static_cast<double>(every_));
    std::vector<Operand> operands{done};
    if (until.valid()) operands.push_back(apply(op::to_host, {until}));
    for (const ValueId value : saved_) operands.push_back(apply(op::to_host, {value}));
    auto function = std::make_shared<HostFunction>();
    function->name = "save_states";
    function->call = [hook = points_.hook, stops = until.valid()](std::span<const Array> inputs, std::span<Array>,
                                                                  const CallLimits&) -> Status {
      if (!hook->save) return {};
      hook->saved = true;
      const bool over = stops && *inputs[1].data<bool>();
      return hook->save(over ? kAllTrips : *inputs[0].data<std::int32_t>(), inputs.subspan(stops ? 2 : 1));
    };
    Attributes attributes;
    attributes.set("function", std::shared_ptr<const HostFunction>(std::move(function)));
    tracer_.apply(op::host_call, operands, std::move(attributes), at_);
    tracer_.begin_otherwise();
    tracer_.end_branch({}, {});
  }

  Tracer tracer_;
  const std::vector<GraphState> states_;
  const NodeId loop_;
  const std::int64_t every_;
  const SourceLocation at_;
  SavePoints points_;
  std::vector<ValueId> saved_;                            ///< for each of points_.values: what is saved in the body
  std::vector<std::pair<NodeId, std::string>> restored_;  ///< carried values that are no states, and the names of their parameters
  std::vector<std::pair<NodeId, ValueId>> initial_;       ///< their new initial values
  Operand start_, count_;
  ValueId rest_;
};

}  // namespace

Result<SavePoints> add_save_points(const Graph& graph, std::int64_t every) {
  std::vector<GraphState> states = states_of(graph);
  if (states.empty()) return Error{"the program has no states to save; `resident` keeps parameters from run to run", {}, ErrorKind::usage};
  const Result<NodeId> loop = outermost_loop(graph, states);
  if (!loop) return loop.error();
  if (Status known = InitialValues(graph, states, *loop).check(); !known) return known.error();
  return SavePointWriter(graph, std::move(states), *loop, every).write();
}

NodeId continued_loop(const Graph& graph) {
  for (const NodeId id : graph.regions[Graph::kRoot].nodes) {
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::for_loop || node.inputs.empty()) continue;
    for (const ValueId input : graph.producer(node.inputs[0]).inputs)
      if (graph.values[input].name == kTripsDone) return id;
  }
  return {};
}

}  // namespace cleave
