// Tracer: loops, and the frames that loops and branches (tracer_branch.cpp) share. Nodes traced between the begin and end of a frame belong
// to its regions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/number_text.h"
#include "graph/trace/endless.h"
#include "graph/trace/known_value.h"
#include "graph/trace/tracer_state.h"
#include "graph/trips.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

constexpr double kAssumedTrips = 10;
/// Largest number of nodes searched for a mistaken division.
constexpr std::size_t kMostLookedAt = 64;

}  // namespace

std::string quoted(const std::string& name, std::string_view otherwise) {
  return name.empty() ? std::string(otherwise) : "`" + name + "`";
}

std::optional<std::int64_t> integer_constant(const Graph& graph, ValueId value) {
  const TensorType& type = graph.values[value].type;
  if (!type.scalar() || !is_integer(type.dtype)) return std::nullopt;
  const std::optional<Array> known = known_value(graph, value);
  if (!known) return std::nullopt;
  const Array& array = *known;
  return dispatch(type.dtype, [&](auto zero) -> std::optional<std::int64_t> {
    if constexpr (!std::is_integral_v<decltype(zero)> || std::is_same_v<decltype(zero), bool>)
      return std::nullopt;
    else {
      const auto number = *array.data<decltype(zero)>();
      return std::in_range<std::int64_t>(number) ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
    }
  });
}

std::vector<Note> division_notes(const Graph& graph, ValueId value, DType meant) {
  if (!is_integer(meant) || !value.valid()) return {};
  std::vector<NodeId> work{graph.values[value].producer};
  for (std::size_t i = 0; i < work.size() && i < kMostLookedAt; ++i) {
    const Node& node = graph.nodes[work[i]];
    if (node.kind != NodeKind::operation) continue;
    for (ValueId input : node.inputs) {
      const Node& operand = graph.producer(input);
      const bool promoted = operand.kind == NodeKind::operation && operand.op == &op::astype && operand.location == node.location;
      if (node.op == &op::divide && promoted && graph.values[operand.inputs[0]].type.dtype == meant) {
        return {{"`/` gives " + to_string(graph.values[node.results[0]].type) + " here; floor division, `//` or floor_divide(), keeps " +
                     std::string(to_string(meant)),
                 node.location}};
      }
      if (is_floating(graph.values[input].type.dtype)) work.push_back(graph.values[input].producer);
    }
  }
  return {};
}

/// For a carried value that starts as a bare number: the spelling of that number with the type that the value becomes.
std::string begin_as(const Graph& graph, ValueId initial, const TensorType& wanted) {
  const Node& node = graph.producer(initial);
  const TensorType& type = graph.values[initial].type;
  if (node.kind != NodeKind::constant || !type.scalar() || type.dtype == DType::boolean || wanted.dtype == DType::boolean) return {};
  if (is_floating(type.dtype) && !is_floating(wanted.dtype)) return {};
  std::string number = general_text(node.attributes.get<Array>("value").at(0), 9);
  if (is_floating(wanted.dtype) && number.find_first_of(".en") == std::string::npos) number += ".0";
  if (wanted == TensorType{DType::f32, {}}) return "; `" + number + "` begins as f32[]";
  std::string shape;
  for (const std::int64_t extent : wanted.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return "; `full([" + shape + "], " + number + ", dtype=" + std::string(to_string(wanted.dtype)) + ")` begins as " + to_string(wanted);
}

// --- shared by loops and branches -------------------------------------------------------------------------------------------------

RegionId Tracer::State_::add_region(RegionKind kind, RegionId parent, NodeId owner) {
  RegionId id = graph.regions.push_back(Region{kind, parent, owner, {}, {}});
  graph.nodes[owner].regions.push_back(id);
  open.push_back(false);
  return id;
}

void Tracer::State_::enter(RegionId inner) {
  open[inner.index] = true;
  region = inner;
}

void Tracer::State_::leave_to(RegionId outer) {
  for (; region != outer; region = graph.regions[region].parent) open[region.index] = false;
}

void Tracer::State_::open_frame(NodeId node, RegionKind kind, const SourceLocation& location) {
  Frame frame;
  frame.node = node;
  frame.outer = region;
  frame.location = chained(location);
  frame.first = add_region(kind, region, node);
  frames.push_back(std::move(frame));
  enter(frames.back().first);
}

/// Closes and returns the innermost frame.
Tracer::State_::Frame Tracer::State_::close_frame() {
  CLEAVE_CHECK(!frames.empty(), "nothing to end");
  Frame frame = std::move(frames.back());
  frames.pop_back();
  if (!frames.empty() && frame.may_end) frames.back().may_end = true;
  leave_to(frame.outer);
  return frame;
}

ValueId Tracer::State_::predicate(const Operand& operand, const SourceLocation& location, std::string_view what) {
  if (operand.poisoned()) return {};
  const bool weak_bool = operand.literal && operand.literal->type == Literal::Type::boolean;
  if (operand.literal && !weak_bool) {
    error(DiagnosticKind::predicate, location,
          std::string(what) + " must be a scalar bool, not the number `" + to_string(*operand.literal) + "`");
    return {};
  }
  ValueId value = materialize(operand, location, std::nullopt, region);
  if (!value.valid()) return {};
  const TensorType& type = graph.values[value].type;
  if (type == TensorType{DType::boolean, {}}) return value;
  error(DiagnosticKind::predicate, location, no_predicate(what, type));
  return {};
}

// --- carried values ---------------------------------------------------------------------------------------------------------------

/// The initial values, in the region of the loop; an invalid id after a mistake.
std::vector<ValueId> Tracer::State_::initial_values(std::span<const State> initial) {
  std::vector<ValueId> result;
  result.reserve(initial.size());
  for (const State& state : initial) result.push_back(materialize(state.operand, state.location, std::nullopt, region));
  return result;
}

std::vector<Operand> Tracer::State_::add_carried(std::span<const State> initial, const std::vector<ValueId>& initial_ids) {
  Frame& frame = frames.back();
  std::vector<Operand> inside;
  inside.reserve(initial.size());
  for (std::size_t i = 0; i < initial.size(); ++i) {
    NodeId id;
    Operand seen;
    if (initial_ids[i].valid()) {
      id = add_node(NodeKind::carried, region, initial[i].location);
      graph.nodes[id].owner = frame.node;
      graph.nodes[id].inputs = {initial_ids[i]};
      const TensorType type = graph.values[initial_ids[i]].type;
      seen = add_result(id, type, region, initial[i].name);
      add_result(id, type, frame.outer, initial[i].name);
      for (const Length& length : common_lengths(initial_ids[i], initial_ids[i], initial[i].location, initial[i].name, {}))
        set_length(seen.value, length);
    }
    frame.carried.push_back(id);
    inside.push_back(seen);
  }
  return inside;
}

/// The value yielded to `carried`, converted to its type; invalid after a mistake.
ValueId Tracer::State_::yielded_value(const State& state, NodeId carried) {
  const TensorType type = graph.values[graph.nodes[carried].results[0]].type;
  const Literal* literal = state.operand.literal ? &*state.operand.literal : nullptr;
  const bool fits = literal && type.scalar() && adapts(*literal, type.dtype);
  if (fits) return materialize(state.operand, state.location, type.dtype, region);
  TensorType given;
  if (literal) {
    given = {default_dtype(*literal), {}};
  } else {
    if (!state.operand.value.valid() || !check_visible(state.operand.value, state.location)) return {};
    given = graph.values[state.operand.value].type;
    if (given == type) return state.operand.value;
  }
  const Node& node = graph.nodes[carried];
  const std::string& name = graph.values[node.results[0]].name;
  std::vector<Note> notes{
      {quoted(name, "it") + " (" + to_string(type) + ") is carried from here" + begin_as(graph, node.inputs[0], given), node.location}};
  for (Note& note : division_notes(graph, state.operand.value, type.dtype)) notes.push_back(std::move(note));
  error(DiagnosticKind::carried, state.location,
        quoted(state.name.empty() ? name : state.name, "a carried value") + " is carried through the loop as " + to_string(type) +
            " but becomes " + to_string(given) + " here",
        std::move(notes));
  return {};
}

/// Connects the yielded values to the carried nodes and returns the values after the loop.
std::vector<Operand> Tracer::State_::yield(std::span<const State> yielded) {
  const Frame& frame = frames.back();
  CLEAVE_CHECK(yielded.size() == frame.carried.size(), "a loop yields one operand a carried value");
  std::vector<Operand> after(yielded.size());
  for (std::size_t i = 0; i < yielded.size(); ++i) {
    if (!frame.carried[i].valid()) continue;
    ValueId value = yielded_value(yielded[i], frame.carried[i]);
    if (!value.valid()) continue;
    Node& node = graph.nodes[frame.carried[i]];
    node.inputs.push_back(value);
    const ValueId initial = node.inputs[0], result = node.results[1];
    after[i] = result;
    const std::string& name = yielded[i].name.empty() ? graph.values[result].name : yielded[i].name;
    for (const Length& length : common_lengths(initial, value, yielded[i].location, name, "a loop carries it only with one size"))
      set_length(result, length);
  }
  return after;
}

// --- for --------------------------------------------------------------------------------------------------------------------------

Tracer::State_::Count Tracer::State_::checked_count(const Operand& operand, const SourceLocation& location) {
  Count count;
  if (operand.literal) {
    if (operand.literal->type == Literal::Type::integer)
      count.known = operand.literal->above_i64 ? std::numeric_limits<std::int64_t>::max() : operand.literal->integer;
    else
      error(DiagnosticKind::type, location, "the count of a loop must be an integer, not `" + to_string(*operand.literal) + "`");
  } else if (operand.value.valid() && check_visible(operand.value, location)) {
    const TensorType& type = graph.values[operand.value].type;
    count.known = integer_constant(graph, operand.value);
    if (type.scalar() && is_integer(type.dtype))
      count.runtime = operand.value;
    else
      error(DiagnosticKind::type, location,
            "the count of a loop must be an integer scalar, not " + to_string(type) +
                (type.rank() > 0 ? "; a loop counts, and takes elements by `[i]`" : ""));
  }
  if (count.known && *count.known < 0) {
    error(DiagnosticKind::value, location, "the count of a loop must not be negative: " + std::to_string(*count.known));
    count.known = 0;
  } else if (count.known && *count.known > std::numeric_limits<std::int32_t>::max()) {
    error(DiagnosticKind::value, location, "a loop has at most 2147483647 trips, not " + std::to_string(*count.known));
    count.known = 0;
  }
  if (!count.known && !count.runtime.valid()) count.known = 0;  // after a mistake
  return count;
}

void Tracer::State_::set_trips(Node& node, std::optional<std::int64_t> known, std::optional<double> expect,
                               std::optional<std::int64_t> at_most) {
  if (at_most && (*at_most < 1 || *at_most > std::numeric_limits<std::int32_t>::max())) {
    error(DiagnosticKind::value, node.location, "`at_most` is a number of trips from 1 to 2147483647, not " + std::to_string(*at_most));
    at_most.reset();
  }
  if (known && at_most && *known <= *at_most) at_most.reset();
  if (at_most) node.attributes.set("at_most", *at_most);
  if (expect && !(std::isfinite(*expect) && *expect >= 0)) {
    error(DiagnosticKind::value, node.location, "the expected number of trips must be a finite number of at least 0");
    expect.reset();
  }
  node.assumed = !known && !expect;
  node.expected = known ? static_cast<double>(*known) : kAssumedTrips;
  if (at_most) node.expected = std::min(node.expected, static_cast<double>(*at_most));
  if (expect) node.expected = *expect;
}

void Tracer::State_::set_prefetch(Node& loop, std::optional<std::int64_t> prefetch) {
  if (!prefetch) return;
  if (*prefetch < 0 || *prefetch > kMostPrefetch)
    return error(DiagnosticKind::value, loop.location,
                 "`prefetch` is a number of trips from 0 to " + std::to_string(kMostPrefetch) + ", not " + std::to_string(*prefetch));
  loop.attributes.set("prefetch", *prefetch);
}

Tracer::Loop Tracer::begin_for(const Operand& count, std::span<const State> initial, SourceLocation location, std::optional<double> expect,
                               std::string_view counter_name, std::optional<std::int64_t> at_most, std::optional<std::int64_t> prefetch) {
  State_& s = *state_;
  const State_::Count trips = s.checked_count(count, location);
  const std::vector<ValueId> initial_ids = s.initial_values(initial);
  NodeId id = s.add_node(NodeKind::for_loop, s.region, location);
  Node& node = s.graph.nodes[id];
  if (trips.known)
    node.attributes.set("count", *trips.known);
  else
    node.inputs = {trips.runtime};
  s.set_trips(node, trips.known, expect, at_most);
  s.set_prefetch(node, prefetch);
  s.open_frame(id, RegionKind::for_body, location);

  Loop loop;
  NodeId counter = s.add_node(NodeKind::counter, s.region, location);
  s.graph.nodes[counter].owner = id;
  loop.counter = s.add_result(counter, TensorType{DType::i32, {}}, s.region, counter_name);
  loop.inside = s.add_carried(initial, initial_ids);
  return loop;
}

std::vector<Operand> Tracer::end_for(std::span<const State> yielded, const std::optional<Operand>& until) {
  State_& s = *state_;
  CLEAVE_CHECK(!s.frames.empty() && s.graph.nodes[s.frames.back().node].kind == NodeKind::for_loop, "no for loop to end");
  if (until) {
    const bool known = until->value.valid() && s.graph.values.contains(until->value);
    const SourceLocation where = known ? s.graph.producer(until->value).location : s.frames.back().location;
    s.graph.regions[s.region].predicate = s.predicate(*until, where, "`until`");
  } else {
    const Node& loop = s.graph.nodes[s.frames.back().node];
    const auto* count = loop.attributes.get_if<std::int64_t>("count");
    if (const auto most = most_trips(loop); count && most)
      s.error(DiagnosticKind::value, loop.location,
              "the loop has " + std::to_string(*count) + " trips, more than its `at_most` of " + std::to_string(*most));
  }
  std::vector<Operand> after = s.yield(yielded);
  s.close_frame();
  return after;
}

// --- while ------------------------------------------------------------------------------------------------------------------------

Tracer::Loop Tracer::begin_while(std::span<const State> initial, SourceLocation location, std::optional<double> expect,
                                 std::optional<std::int64_t> at_most) {
  State_& s = *state_;
  const std::vector<ValueId> initial_ids = s.initial_values(initial);
  NodeId id = s.add_node(NodeKind::while_loop, s.region, location);
  s.set_trips(s.graph.nodes[id], std::nullopt, expect, at_most);
  s.open_frame(id, RegionKind::while_condition, location);
  return {Operand(), s.add_carried(initial, initial_ids)};
}

void Tracer::while_condition(const Operand& predicate, SourceLocation location) {
  State_& s = *state_;
  CLEAVE_CHECK(!s.frames.empty() && s.region == s.frames.back().first && !s.frames.back().second, "no while condition to end");
  CLEAVE_CHECK(s.graph.nodes[s.frames.back().node].kind == NodeKind::while_loop, "no while condition to end");
  s.graph.regions[s.region].predicate = s.predicate(predicate, location, "the condition of `while`");
  s.frames.back().second = true;
  s.enter(s.add_region(RegionKind::while_body, s.region, s.frames.back().node));
}

std::vector<Operand> Tracer::end_while(std::span<const State> yielded) {
  State_& s = *state_;
  CLEAVE_CHECK(!s.frames.empty() && s.frames.back().second, "no while loop to end");
  CLEAVE_CHECK(s.graph.nodes[s.frames.back().node].kind == NodeKind::while_loop, "no while loop to end");
  std::vector<Operand> after = s.yield(yielded);
  const State_::Frame frame = s.close_frame();
  s.check_ends(frame);
  return after;
}

/// Reports a loop whose condition is true and never changes in it.
void Tracer::State_::check_ends(const Frame& frame) {
  if (frame.may_end || !cannot_end(graph, frame.node)) return;
  const Node& producer = graph.producer(graph.regions[frame.first].predicate);
  const bool constant = producer.kind == NodeKind::constant;
  error(DiagnosticKind::endless_loop, frame.location,
        std::string("this loop cannot end: its condition is ") +
            (constant ? "always true" : "true, and at some point nothing in the loop changes it"),
        {Note{"the condition", producer.location}});
}

}  // namespace cleave
