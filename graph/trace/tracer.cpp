// Tracer: leaves, scopes and the end of a trace. See tracer_state.h for the other files.
#include "graph/trace/tracer.h"

#include "graph/array/range.h"
#include "graph/base/number_text.h"
#include "graph/passes/renumber.h"
#include "graph/passes/unused.h"
#include "graph/passes/verify.h"
#include "graph/trace/tracer_state.h"

namespace cleave {

SourceLocation Tracer::State_::chained(SourceLocation location) const {
  if (!location.via && !scopes.empty()) location.via = scopes.back();
  return location;
}

void Tracer::State_::error(DiagnosticKind kind, const SourceLocation& location, std::string message, std::vector<Note> notes) {
  graph.diagnostics.error(kind, chained(location), std::move(message), std::move(notes));
}

NodeId Tracer::State_::add_node(NodeKind kind, RegionId where, const SourceLocation& location) {
  NodeId id = graph.nodes.push_back(Node{});
  Node& node = graph.nodes[id];
  node.kind = kind;
  node.region = where;
  node.location = location;
  if (!node.location.via && !scopes.empty()) node.location.via = scopes.back();
  if (!allowances.empty()) node.allowed = allowances;
  graph.regions[where].nodes.push_back(id);
  return id;
}

ValueId Tracer::State_::add_result(NodeId node, TensorType type, RegionId lives, std::string_view name) {
  std::vector<ValueId>& results = graph.nodes[node].results;
  ValueId id = graph.values.push_back(Value{std::move(type), node, static_cast<std::uint32_t>(results.size()), lives, std::string(name)});
  results.push_back(id);
  return id;
}

bool Tracer::State_::check_visible(ValueId value, const SourceLocation& location, RegionId also) {
  CLEAVE_CHECK(graph.values.contains(value), "a value of another trace");
  RegionId lives = graph.values[value].region;
  if (open[lives.index] || lives == also) return true;
  error(DiagnosticKind::unknown, location,
        quoted(graph.values[value].name, "this value") + " was made inside a loop or branch that has ended; carry it out to use it here",
        {Note{"made here", graph.producer(value).location}});
  return false;
}

Tracer::Tracer(std::string name) : state_(std::make_unique<State_>()) {
  state_->graph.name = std::move(name);
}
Tracer::~Tracer() = default;

bool Tracer::State_::check_leaf(const std::string& name, const TensorType& type, const SourceLocation& location) {
  if (!frames.empty()) {
    error(DiagnosticKind::unsupported, location, "`" + name + "` is declared inside a loop or branch; inputs and parameters stand outside");
    return false;
  }
  if (!checked_bytes(type)) {
    error(DiagnosticKind::shape, location, "`" + name + "` is too large or has a negative extent: " + to_string(type));
    return false;
  }
  if (!leaf_names.insert(name).second) {
    error(DiagnosticKind::value, location, "`" + name + "` is declared twice");
    return false;
  }
  return true;
}

Operand Tracer::State_::add_leaf(NodeKind kind, const std::string& name, TensorType type, Attributes attributes,
                                 const SourceLocation& location) {
  if (!check_leaf(name, type, location)) return {};
  NodeId node = add_node(kind, Graph::kRoot, location);
  graph.nodes[node].attributes = std::move(attributes);
  return add_result(node, std::move(type), Graph::kRoot, name);
}

Operand Tracer::input(std::string name, TensorType type, Attributes attributes, SourceLocation location) {
  return state_->add_leaf(NodeKind::input, name, std::move(type), std::move(attributes), location);
}

Operand Tracer::parameter(std::string name, TensorType type, Attributes attributes, SourceLocation location) {
  const auto* real = attributes.get_if<double>("value");
  const auto* whole = attributes.get_if<std::int64_t>("value");
  if ((real && !holds(type.dtype, *real)) || (whole && out_of_range(*whole, type.dtype)))
    state_->error(DiagnosticKind::value, location,
                  "`" + name + "` begins as " + (real ? general_text(*real, 9) : std::to_string(*whole)) + ", which its type " +
                      to_string(type) + " does not hold; " + range_text(type.dtype));
  return state_->add_leaf(NodeKind::parameter, name, std::move(type), std::move(attributes), location);
}

Operand Tracer::constant(Array value, SourceLocation location) {
  return state_->add_constant(std::move(value), state_->region, location);
}

const TensorType* Tracer::type(const Operand& operand) const {
  if (operand.value.valid()) return &state_->graph.values[operand.value].type;
  if (operand.literal) return &state_->literal_types[static_cast<int>(operand.literal->type)];
  return nullptr;
}

const Graph& Tracer::graph() const {
  return state_->graph;
}

void Tracer::push_scope(std::string label, SourceLocation caller) {
  state_->scopes.push_back(std::make_shared<const SourceFrame>(SourceFrame{std::move(label), state_->chained(std::move(caller))}));
}
void Tracer::pop_scope() {
  state_->scopes.pop_back();
}
void Tracer::push_place(Pin pin) {
  state_->places.push_back(std::move(pin));
}
void Tracer::pop_place() {
  state_->places.pop_back();
}
void Tracer::push_recompute(Recompute recompute) {
  state_->recomputes.push_back(recompute);
}
void Tracer::pop_recompute() {
  state_->recomputes.pop_back();
}
void Tracer::push_allow(Allowance allowance) {
  state_->allowances.push_back(std::move(allowance));
}
void Tracer::pop_allow() {
  state_->allowances.pop_back();
}

void Tracer::output(std::string name, const Operand& operand, SourceLocation location) {
  State_& s = *state_;
  if (!s.frames.empty()) return s.error(DiagnosticKind::unsupported, location, "an output stands outside loops and branches");
  if (!s.output_names.insert(name).second) return s.error(DiagnosticKind::value, location, "`" + name + "` is an output twice");
  ValueId value = s.materialize(operand, location, std::nullopt, Graph::kRoot);
  if (value.valid()) s.graph.outputs.push_back({std::move(name), value, s.chained(std::move(location))});
}

void Tracer::set_limits(Limits limits) {
  if (limits.prediction_error && !(*limits.prediction_error > 0 && *limits.prediction_error < 1e9))
    error(DiagnosticKind::value, limits.location,
          "the limit `prediction_error` is a part of the predicted time, above 0, as in 0.2 for 20 %");
  state_->graph.limits = std::move(limits);
}

void Tracer::error(DiagnosticKind kind, SourceLocation location, std::string message, std::vector<Note> notes) {
  state_->error(kind, location, std::move(message), std::move(notes));
}

SourceLocation Tracer::chained(SourceLocation location) const {
  return state_->chained(std::move(location));
}

bool Tracer::has_errors() const {
  return state_->graph.diagnostics.has_errors();
}

Graph Tracer::finish_written() {
  State_& s = *state_;
  s.add_counts();
  if (s.graph.ok()) s.graph.diagnostics.append(find_unused(s.graph, s.asked));
  return finish();
}

void Tracer::note_type_asked(const Operand& operand) {
  if (operand.value.valid()) state_->asked.push_back(operand.value);
}

Graph Tracer::finish() {
  State_& s = *state_;
  if (!s.graph.ok()) return std::move(s.graph);  // a face may give up within a loop or branch, after a mistake in it
  CLEAVE_CHECK(s.frames.empty(), "a loop or branch was begun but not ended");
  s.add_counts();
  add_entry_counts();
  Graph graph = s.out_of_order ? in_program_order(std::move(s.graph)) : std::move(s.graph);
#ifndef NDEBUG
  const std::vector<std::string> broken = verify(graph);
  CLEAVE_CHECK(broken.empty(), "the Tracer built a malformed graph");
#endif
  return graph;
}

}  // namespace cleave
