#include "graph/gradient/loop_segments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/base/check.h"
#include "graph/gradient/recorded_rule.h"
#include "graph/passes/drop_dead.h"
#include "graph/passes/verify.h"
#include "graph/trace/composer.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

/// The number of trips of a `for` that runs all of them.
std::optional<std::int64_t> fixed_trips(const Graph& graph, const Node& loop) {
  if (loop.kind != NodeKind::for_loop || graph.regions[loop.regions[0]].predicate.valid()) return std::nullopt;
  const auto* count = loop.attributes.get_if<std::int64_t>("count");
  return count ? std::optional(*count) : std::nullopt;
}

ValueId counter_of(const Graph& graph, NodeId loop) {
  return graph.nodes[graph.regions[graph.nodes[loop].regions[0]].nodes.front()].results[0];
}

std::vector<NodeId> carried_by(const Graph& graph, NodeId loop) {
  std::vector<NodeId> found;
  for (const NodeId id : graph.regions[graph.nodes[loop].regions[0]].nodes)
    if (graph.nodes[id].kind == NodeKind::carried && graph.nodes[id].owner == loop) found.push_back(id);
  return found;
}

/// Whether a value is a constant of type i32 that equals `number`.
bool is_number(const Graph& graph, ValueId value, std::int64_t number) {
  const Node& node = graph.producer(value);
  if (node.kind != NodeKind::constant || graph.values[value].type != TensorType{DType::i32, {}}) return false;
  return *node.attributes.get<Array>("value").data<std::int32_t>() == number;
}

/// Whether a window with these starts is the row at `first` of an array, whole.
bool is_row_at(const Graph& graph, std::span<const ValueId> starts, ValueId first) {
  return !starts.empty() && starts[0] == first &&
         std::all_of(starts.begin() + 1, starts.end(), [&](ValueId start) { return is_number(graph, start, 0); });
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), readers_(graph.values.size()), leaves_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const ValueId input : graph.nodes[NodeId(i)].inputs) readers_[input].push_back(NodeId(i));
    for (const Output& output : graph.outputs) leaves_[output.value] = true;
    for (const Region& region : graph.regions)
      if (region.predicate.valid()) leaves_[region.predicate] = true;
  }

  [[nodiscard]] std::vector<StackedLoop> run() const {
    std::vector<StackedLoop> found;
    for (const Region& region : graph_.regions)
      for (const NodeId id : region.nodes) find_in(id, found);
    std::sort(found.begin(), found.end(), [](const StackedLoop& a, const StackedLoop& b) {
      return a.forward != b.forward ? a.forward < b.forward : a.backward < b.backward;
    });
    return found;
  }

 private:
  void find_in(NodeId forward, std::vector<StackedLoop>& found) const {
    const std::optional<std::int64_t> trips = fixed_trips(graph_, graph_.nodes[forward]);
    if (!trips || *trips < 2) return;
    const IdVector<ValueId, bool> again = repeatable(forward);
    std::map<NodeId, std::vector<NodeId>> by_reader;
    for (const NodeId carried : carried_by(graph_, forward)) {
      const std::optional<ValueId> row = row_of_stack(carried, *trips);
      if (!row || !again[*row] || graph_.producer(*row).recompute == Recompute::never) continue;
      if (const NodeId backward = reader_of_stack(carried, *trips); backward.valid()) by_reader[backward].push_back(carried);
    }
    for (auto& [backward, stacks] : by_reader) found.push_back(close({forward, backward, *trips, std::move(stacks), {}, {}}));
  }

  /// The values of a loop's body that follow by pure operations from carried values that do so themselves, the counter, and values from
  /// outside.
  [[nodiscard]] IdVector<ValueId, bool> repeatable(NodeId loop) const {
    const RegionId body = graph_.nodes[loop].regions[0];
    IdVector<ValueId, bool> good(graph_.values.size(), true);
    const auto follows = [&](NodeId id) {
      const Node& node = graph_.nodes[id];
      if (node.kind == NodeKind::counter || node.kind == NodeKind::constant) return true;
      if (node.kind == NodeKind::carried) return bool{good[node.inputs[1]]};
      return node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure &&
             std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return bool{good[input]}; });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId id : graph_.regions[body].nodes) {
        if (graph_.nodes[id].results.empty() || !good[graph_.nodes[id].results[0]] || follows(id)) continue;
        for (const ValueId result : graph_.nodes[id].results) good[result] = false;
        changed = true;
      }
    }
    return good;
  }

  /// The value of which each trip writes a row, if `carried` is a stack with a row for each trip.
  [[nodiscard]] std::optional<ValueId> row_of_stack(NodeId carried, std::int64_t trips) const {
    const Node& node = graph_.nodes[carried];
    const ValueId inside = node.results[0], next = node.inputs[1];
    const Node& update = graph_.producer(next);
    if (!gradients::is_operation(update, op::dynamic_update_slice) || update.region != node.region || update.inputs[0] != inside)
      return std::nullopt;
    const auto only = [&](ValueId value) { return readers_[value].size() == 1 && !leaves_[value]; };
    if (!only(inside) || !only(next)) return std::nullopt;
    const Shape& shape = graph_.values[inside].type.shape;
    if (shape.empty() || shape[0] != trips || !is_one_row(graph_.values[update.inputs[1]].type.shape, shape)) return std::nullopt;
    if (!is_row_at(graph_, std::span(update.inputs).subspan(2), counter_of(graph_, node.owner))) return std::nullopt;
    return update.inputs[1];
  }
  static bool is_one_row(const Shape& window, const Shape& stack) {
    const std::size_t rest = stack.size() - 1;
    return std::equal(window.end() - static_cast<std::ptrdiff_t>(std::min(rest, window.size())), window.end(), stack.begin() + 1,
                      stack.end()) &&
           (window.size() == rest || (window.size() == rest + 1 && window[0] == 1));
  }

  /// The loop that reads all rows from the last to the first, if nothing else reads the stack.
  [[nodiscard]] NodeId reader_of_stack(NodeId carried, std::int64_t trips) const {
    const ValueId stack = graph_.nodes[carried].results[1];
    const RegionId region = graph_.nodes[graph_.nodes[carried].owner].region;
    NodeId loop;
    for (const NodeId id : readers_[stack]) {
      const Node& read = graph_.nodes[id];
      const NodeId owner = graph_.regions[read.region].owner;
      if (!gradients::is_operation(read, op::dynamic_slice) || !owner.valid() || (loop.valid() && loop != owner)) return {};
      loop = owner;
      if (graph_.nodes[loop].region != region || fixed_trips(graph_, graph_.nodes[loop]) != trips) return {};
      if (!is_row_at(graph_, std::span(read.inputs).subspan(1), read.inputs[1]) || !counts_down(read.inputs[1], loop, trips)) return {};
      const Shape &row = graph_.values[read.results[0]].type.shape, &shape = graph_.values[stack].type.shape;
      if (row[0] != 1 || !std::equal(row.begin() + 1, row.end(), shape.begin() + 1, shape.end())) return {};
    }
    return leaves_[stack] ? NodeId() : loop;
  }
  [[nodiscard]] bool counts_down(ValueId place, NodeId loop, std::int64_t trips) const {
    const Node& node = graph_.producer(place);
    return gradients::is_operation(node, op::subtract) && node.inputs[1] == counter_of(graph_, loop) &&
           is_number(graph_, node.inputs[0], trips - 1);
  }

  /// Adds what the rows are computed from.
  [[nodiscard]] StackedLoop close(StackedLoop loop) const {
    const RegionId body = graph_.nodes[loop.forward].regions[0];
    std::set<NodeId> seen;
    std::vector<ValueId> work;
    for (const NodeId stack : loop.stacks) work.push_back(*row_of_stack(stack, loop.trips));
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      const NodeId producer = graph_.values[value].producer;
      const Node& node = graph_.nodes[producer];
      if (graph_.values[value].region != body || !seen.insert(producer).second) continue;
      if (node.kind == NodeKind::operation) work.insert(work.end(), node.inputs.begin(), node.inputs.end());
      if (node.kind == NodeKind::carried) work.push_back(node.inputs[1]);
    }
    for (const NodeId id : graph_.regions[body].nodes) {
      if (!seen.contains(id)) continue;
      if (graph_.nodes[id].kind == NodeKind::carried) loop.states.push_back(id);
      if (graph_.nodes[id].kind == NodeKind::operation) loop.again.push_back(id);
    }
    return loop;
  }

  const Graph& graph_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  IdVector<ValueId, bool> leaves_;  ///< outputs and predicates
};

/// Writes, around the backward loop, one with a trip for each segment, from the last to the first. In it stands a loop that computes the
/// trips of the segment again and fills buffers with their rows, and then the backward loop, which reads these.
class Divider {
 public:
  Divider(Graph graph, const StackedLoop& loop, std::int64_t every)
      : tracer_(std::move(graph)),
        loop_(loop),
        every_(every),
        segments_((loop.trips + every - 1) / every),
        forward_(tracer_, tracer_.graph().nodes[loop.forward].location),
        backward_(tracer_, tracer_.graph().nodes[loop.backward].location) {
    for (const NodeId id : carried_by(tracer_.graph(), loop.backward)) carried_.push_back(id);
  }

  Graph run() {
    for (const NodeId state : loop_.states) keep_state(state);
    write_segments();
    Graph graph = tracer_.release();
    move_backward(graph);
    graph = place_rows(std::move(graph));
    redirect(graph);
    return drop_dead(std::move(graph));
  }

 private:
  [[nodiscard]] const Graph& graph() const { return tracer_.graph(); }
  [[nodiscard]] const TensorType& type(ValueId value) const { return graph().values[value].type; }
  Part zeros(Composer& composer, TensorType type, std::int64_t rows) {
    type.shape.insert(type.shape.begin(), rows);
    return composer(op::zeros, std::initializer_list<Part>{}, {{"shape", type.shape}, {"dtype", type.dtype}});
  }
  static Part with_row(Composer& composer, const Part& stack, const Part& row, const Part& place) {
    Parts operands{stack, row, place};
    operands.insert(operands.end(), static_cast<std::size_t>(stack.rank()) - 1, Part(0));
    return composer(op::dynamic_update_slice, operands);
  }
  /// The type of a row of a stack, without the axis of rows.
  [[nodiscard]] TensorType row_type(NodeId stack) const {
    TensorType row = type(graph().nodes[stack].results[0]);
    row.shape.erase(row.shape.begin());
    return row;
  }

  /// Lets the forward loop keep the value of a state at the begin of each segment. Row m is written last in trip m * every; the row behind
  /// the last segment is never read.
  void keep_state(NodeId state) {
    const ValueId inside = graph().nodes[state].results[0];
    const Operand kept = tracer_.carry_more(
        loop_.forward, [&] { return zeros(forward_, type(inside), segments_ + 1).operand(); },
        [&](const Operand& stack) {
          if (!place_)
            place_ = forward_(op::floor_divide,
                              {forward_.add({tracer_, {counter_of(graph(), loop_.forward)}}, static_cast<std::int32_t>(every_ - 1)),
                               static_cast<std::int32_t>(every_)});
          return with_row(forward_, {tracer_, stack}, {tracer_, Operand{inside}}, *place_).operand();
        });
    kept_.push_back(kept.value);
  }

  void write_segments() {
    const SourceLocation location = graph().nodes[loop_.backward].location;
    tracer_.insert_at(graph().nodes[loop_.backward].region, loop_.backward);
    std::vector<Tracer::State> states;
    for (const NodeId id : carried_) states.push_back({"", Operand{graph().nodes[id].inputs[0]}, location});
    for (const NodeId stack : loop_.stacks) states.push_back({"", zeros(backward_, row_type(stack), every_).operand(), location});
    const Tracer::Loop outer = tracer_.begin_for(Part(segments_).operand(), states, location);
    outer_ = graph().regions[tracer_.region()].owner;
    const auto number = [](std::int64_t n) { return Part(static_cast<std::int32_t>(n)); };
    const Part segment = backward_.subtract(number(segments_ - 1), {tracer_, outer.counter});
    const Part begin = backward_.multiply(segment, number(every_));
    const Part rest = backward_.subtract(number(loop_.trips), begin);
    const bool even = loop_.trips % every_ == 0;
    const Part length = even ? number(every_) : backward_(op::minimum, {rest, number(every_)});
    length_ = even ? ValueId() : length.operand().value;
    last_ = tracer_.materialize(backward_.subtract(length, 1).operand(), location).value;
    before_ = tracer_.materialize(backward_.subtract(rest, length).operand(), location).value;
    const std::vector<Operand> filled = write_again(segment, begin, length, outer);
    std::vector<Tracer::State> yielded;
    for (std::size_t i = 0; i < outer.inside.size(); ++i)
      yielded.push_back({"", i < carried_.size() ? outer.inside[i] : filled[loop_.states.size() + i - carried_.size()], location});
    for (std::size_t i = 0; i < loop_.stacks.size(); ++i) buffers_.push_back(filled[loop_.states.size() + i].value);
    for (std::size_t i = 0; i < carried_.size(); ++i) outer_inside_.push_back(outer.inside[i].value);
    for (const Operand& operand : tracer_.end_for(yielded)) outer_after_.push_back(operand.value);
    tracer_.end_insertion();
  }

  /// The loop that computes the trips of a segment again. Gives the states behind it and the filled buffers.
  std::vector<Operand> write_again(const Part& segment, const Part& begin, const Part& length, const Tracer::Loop& outer) {
    const SourceLocation location = graph().nodes[loop_.backward].location;
    std::vector<Tracer::State> states;
    for (std::size_t i = 0; i < loop_.states.size(); ++i) {
      const Shape shape = type(graph().nodes[loop_.states[i]].results[0]).shape;
      Parts operands{{tracer_, Operand{kept_[i]}}, segment};
      operands.insert(operands.end(), shape.size(), Part(0));
      std::vector<std::int64_t> sizes = shape;
      sizes.insert(sizes.begin(), 1);
      const Part row = backward_.reshape(backward_(op::dynamic_slice, operands, {{"sizes", sizes}}), shape);
      states.push_back({"", row.operand(), location});
    }
    for (std::size_t i = 0; i < loop_.stacks.size(); ++i) states.push_back({"", outer.inside[carried_.size() + i], location});
    const bool known = length.operand().literal.has_value();
    const double average = static_cast<double>(loop_.trips) / static_cast<double>(segments_);
    const Tracer::Loop again = tracer_.begin_for(length.operand(), states, location, known ? std::nullopt : std::optional(average));
    std::map<ValueId, Operand> copies;
    copies[counter_of(graph(), loop_.forward)] = backward_.add(begin, {tracer_, again.counter}).operand();
    for (std::size_t i = 0; i < loop_.states.size(); ++i) copies[graph().nodes[loop_.states[i]].results[0]] = again.inside[i];
    const auto copy_of = [&](ValueId value) {
      if (const auto copy = copies.find(value); copy != copies.end()) return copy->second;
      if (graph().values[value].region != graph().nodes[loop_.forward].regions[0]) return Operand{value};
      const Node constant = graph().producer(value);  // a copy, since nodes are added
      return tracer_.constant(constant.attributes.get<Array>("value"), constant.location);
    };
    for (const NodeId id : loop_.again) {
      const Node node = graph().nodes[id];
      std::vector<Operand> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(copy_of(input));
      tracer_.push_recompute(Recompute::repetition);
      if (node.pin.any()) tracer_.push_place(node.pin);
      for (const Allowance& allowance : node.allowed) tracer_.push_allow(allowance);
      const std::vector<Operand> results = tracer_.apply(*node.op, inputs, node.attributes, node.location);
      for (std::size_t i = 0; i < node.allowed.size(); ++i) tracer_.pop_allow();
      if (node.pin.any()) tracer_.pop_place();
      tracer_.pop_recompute();
      for (std::size_t i = 0; i < results.size(); ++i) copies[node.results[i]] = results[i];
    }
    std::vector<Tracer::State> next;
    for (const NodeId state : loop_.states) next.push_back({"", copy_of(graph().nodes[state].inputs[1]), location});
    for (std::size_t i = 0; i < loop_.stacks.size(); ++i) {
      const ValueId row = graph().producer(graph().nodes[loop_.stacks[i]].inputs[1]).inputs[1];
      const Part filled =
          with_row(backward_, {tracer_, again.inside[loop_.states.size() + i]}, {tracer_, copy_of(row)}, {tracer_, again.counter});
      next.push_back({"", filled.operand(), location});
    }
    return tracer_.end_for(next);
  }

  /// Moves the backward loop to the end of the loop over segments.
  void move_backward(Graph& graph) const {
    Node& node = graph.nodes[loop_.backward];
    const RegionId inside = graph.nodes[outer_].regions[0];
    std::erase(graph.regions[node.region].nodes, loop_.backward);
    graph.regions[inside].nodes.push_back(loop_.backward);
    node.region = inside;
    graph.regions[node.regions[0]].parent = inside;
    if (length_.valid()) {
      node.attributes.erase("count");
      node.inputs = {length_};
    } else {
      node.attributes.set("count", every_);
    }
    node.expected = static_cast<double>(loop_.trips) / static_cast<double>(segments_);
    IdVector<ValueId, ValueId> behind(graph.values.size());
    for (std::size_t i = 0; i < carried_.size(); ++i) behind[graph.nodes[carried_[i]].results[1]] = outer_after_[i];
    const auto change = [&](ValueId& value) {
      if (value.valid() && behind[value].valid()) value = behind[value];
    };
    for (Node& each : graph.nodes)
      for (ValueId& input : each.inputs) change(input);
    for (Region& region : graph.regions) change(region.predicate);
    for (Output& output : graph.outputs) change(output.value);
    const std::vector<NodeId> around = carried_by(graph, outer_);
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      Node& each = graph.nodes[carried_[i]];
      graph.values[each.results[1]].region = inside;
      each.inputs[0] = outer_inside_[i];
      graph.nodes[around[i]].inputs[1] = each.results[1];
      std::string& name = graph.values[each.results[1]].name;
      graph.values[outer_after_[i]].name = std::exchange(name, "");
    }
  }

  /// Records, at the head of the backward loop, the number of the trip as it was, and the place of its row in the buffers.
  Graph place_rows(Graph graph) {
    const RegionId body = graph.nodes[loop_.backward].regions[0];
    const std::vector<NodeId>& nodes = graph.regions[body].nodes;
    const auto first = std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) {
      return graph.nodes[id].kind != NodeKind::counter && graph.nodes[id].kind != NodeKind::carried;
    });
    CLEAVE_CHECK(first != nodes.end(), "a backward loop reads rows");
    const NodeId before = *first;
    const ValueId counter = counter_of(graph, loop_.backward);
    Tracer tracer(std::move(graph));
    tracer.insert_at(body, before);
    Composer composer(tracer, tracer.graph().nodes[loop_.backward].location);
    trip_ = composer.add({tracer, Operand{before_}}, {tracer, Operand{counter}}).operand().value;
    row_ = composer.subtract({tracer, Operand{last_}}, {tracer, Operand{counter}}).operand().value;
    tracer.end_insertion();
    return tracer.release();
  }

  void redirect(Graph& graph) const {
    const ValueId counter = counter_of(graph, loop_.backward);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodeId id(i);
      if (id == graph.values[trip_].producer || id == graph.values[row_].producer) continue;
      Node& node = graph.nodes[id];
      for (ValueId& input : node.inputs)
        if (input == counter) input = trip_;
      if (!gradients::is_operation(node, op::dynamic_slice)) continue;
      for (std::size_t k = 0; k < loop_.stacks.size(); ++k) {
        if (node.inputs[0] != graph.nodes[loop_.stacks[k]].results[1]) continue;
        node.inputs[0] = buffers_[k];
        node.inputs[1] = row_;
      }
    }
    for (Region& region : graph.regions)
      if (region.predicate == counter) region.predicate = trip_;
  }

  Tracer tracer_;
  const StackedLoop& loop_;
  const std::int64_t every_, segments_;
  Composer forward_, backward_;
  std::vector<NodeId> carried_;                      ///< of the backward loop
  std::optional<Part> place_;                        ///< the row of this trip among the kept states
  std::vector<ValueId> kept_;                        ///< by state: its values at the begin of each segment
  NodeId outer_;                                     ///< the loop over segments
  std::vector<ValueId> outer_inside_, outer_after_;  ///< by carried node of the backward loop
  std::vector<ValueId> buffers_;                     ///< by stack: the rows of a segment
  ValueId length_, last_, before_;                   ///< trips of the segment (none: known), the last of them, and the trips behind it
  ValueId trip_, row_;                               ///< in the backward loop
};

}  // namespace

std::vector<StackedLoop> find_stacked_loops(const Graph& graph) {
  return Finder(graph).run();
}

Graph divide_loop(Graph graph, const StackedLoop& loop, std::int64_t every) {
  graph = Divider(std::move(graph), loop, every).run();
#ifndef NDEBUG
  const std::vector<std::string> broken = verify(graph);
  if (!broken.empty()) detail::check_failed("verify(graph).empty()", __FILE__, __LINE__, ("divide_loop: " + broken.front()).c_str());
#endif
  return graph;
}

}  // namespace cleave
