// Tracer: branches and their probabilities.
#include "graph/trace/tracer_state.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

constexpr double kAssumedProbability = 0.5;

bool is_op(const Node& node, const OpDef& op) {
  return node.kind == NodeKind::operation && node.op == &op;
}

/// `i % k == c` on a loop counter holds in every k-th trip.
std::optional<double> periodic_probability(const Graph& graph, ValueId predicate) {
  const Node& equal = graph.producer(predicate);
  if (!is_op(equal, op::equal)) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const Node& remainder = graph.producer(equal.inputs[side]);
    const std::optional<std::int64_t> c = integer_constant(graph, equal.inputs[1 - side]);
    if (!c || !is_op(remainder, op::remainder)) continue;
    const std::optional<std::int64_t> k = integer_constant(graph, remainder.inputs[1]);
    if (!k || *k < 1 || graph.producer(remainder.inputs[0]).kind != NodeKind::counter) continue;
    return *c >= 0 && *c < *k ? 1.0 / static_cast<double>(*k) : 0.0;
  }
  return std::nullopt;
}

}  // namespace

void Tracer::begin_branch(const Operand& predicate, SourceLocation location, std::optional<double> probability) {
  State_& s = *state_;
  ValueId condition = s.predicate(predicate, location, "the condition of `if`");
  if (probability && !(*probability >= 0 && *probability <= 1)) {
    s.error(DiagnosticKind::value, location, "a probability lies between 0 and 1");
    probability.reset();
  }
  if (!probability && predicate.literal) probability = predicate.literal->integer != 0 ? 1.0 : 0.0;
  if (!probability && condition.valid()) probability = periodic_probability(s.graph, condition);
  NodeId id = s.add_node(NodeKind::branch, s.region, location);
  Node& node = s.graph.nodes[id];
  if (condition.valid()) node.inputs = {condition};
  node.assumed = !probability;
  node.expected = probability.value_or(kAssumedProbability);
  s.open_frame(id, RegionKind::then_arm, location);
}

void Tracer::begin_otherwise() {
  State_& s = *state_;
  CLEAVE_CHECK(!s.frames.empty() && s.region == s.frames.back().first && !s.frames.back().second, "no branch is open");
  const State_::Frame& frame = s.frames.back();
  CLEAVE_CHECK(s.graph.nodes[frame.node].kind == NodeKind::branch, "no branch is open");
  s.leave_to(frame.outer);
  s.frames.back().second = true;
  s.enter(s.add_region(RegionKind::else_arm, frame.outer, frame.node));
}

/// Reports at the arm that binds the value; if both do, at the second.
void Tracer::State_::report_arms(const Frame& frame, const State& a, const State& b, const TensorType& first, const TensorType& second) {
  const std::string name = quoted(b.name.empty() ? a.name : b.name, "a value");
  const DiagnosticKind kind = first.shape == second.shape ? DiagnosticKind::type : DiagnosticKind::shape;
  const auto outside = [&](const SourceLocation& where) {
    return where.file_name() == frame.location.file_name() && before(where, frame.location);
  };
  const bool kept_by_first = outside(a.location), kept_by_second = outside(b.location);
  const State& blamed = kept_by_second && !kept_by_first ? a : b;
  const bool blames_first = &blamed == &a;
  const TensorType &type = blames_first ? first : second, &other = blames_first ? second : first;
  const bool kept = kept_by_first != kept_by_second;
  std::vector<Note> notes{{kept ? "the other arm leaves it as it was bound here" : "the first arm gives " + to_string(first) + " here",
                           blames_first ? b.location : a.location}};
  for (Note& note : division_notes(graph, a.operand.value, second.dtype)) notes.push_back(std::move(note));
  for (Note& note : division_notes(graph, b.operand.value, first.dtype)) notes.push_back(std::move(note));
  error(kind, blamed.location, name + " is " + to_string(type) + " in this arm of the branch and " + to_string(other) + " in the other",
        std::move(notes));
}

/// The common type of two arms' values; if there is none, reports it and returns nothing.
std::optional<TensorType> Tracer::State_::merged_type(const Frame& frame, const State& a, const State& b) {
  auto literal_type = [](const Literal& literal) { return TensorType{default_dtype(literal), {}}; };
  const Literal* x = a.operand.literal ? &*a.operand.literal : nullptr;
  const Literal* y = b.operand.literal ? &*b.operand.literal : nullptr;
  TensorType first = x ? literal_type(*x) : graph.values[a.operand.value].type;
  TensorType second = y ? literal_type(*y) : graph.values[b.operand.value].type;
  if (first.shape == second.shape) {
    if (first.dtype == second.dtype) return first;
    if (x && adapts(*x, second.dtype)) return second;
    if (y && adapts(*y, first.dtype)) return first;
  }
  report_arms(frame, a, b, first, second);
  return std::nullopt;
}

std::vector<Operand> Tracer::end_branch(std::span<const State> then_values, std::span<const State> else_values) {
  State_& s = *state_;
  CLEAVE_CHECK(then_values.size() == else_values.size(), "a branch yields as many values in both arms");
  if (!s.frames.empty() && !s.frames.back().second) begin_otherwise();
  const RegionId otherwise = s.region;
  const State_::Frame frame = s.close_frame();
  CLEAVE_CHECK(s.graph.nodes[frame.node].kind == NodeKind::branch, "no branch to end");
  std::vector<Operand> merged(then_values.size());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const State &a = then_values[i], &b = else_values[i];
    if (a.operand.poisoned() || b.operand.poisoned()) continue;
    const bool visible = (a.operand.literal || s.check_visible(a.operand.value, a.location, frame.first)) &&
                         (b.operand.literal || s.check_visible(b.operand.value, b.location, otherwise));
    if (!visible) continue;
    const std::optional<TensorType> type = s.merged_type(frame, a, b);
    if (!type) continue;
    if (a.operand.literal || b.operand.literal) s.out_of_order = true;
    ValueId from_then = s.materialize(a.operand, a.location, type->dtype, frame.first);
    ValueId from_else = s.materialize(b.operand, b.location, type->dtype, otherwise);
    if (!from_then.valid() || !from_else.valid()) continue;
    NodeId node = s.add_node(NodeKind::merge, s.region, b.location);
    s.graph.nodes[node].owner = frame.node;
    s.graph.nodes[node].inputs = {from_then, from_else};
    const std::string& name = b.name.empty() ? a.name : b.name;
    const ValueId result = s.add_result(node, *type, s.region, name);
    merged[i] = result;
    for (const Length& length : s.common_lengths(from_then, from_else, b.location, name, "the other arm gives another size"))
      s.set_length(result, length);
  }
  return merged;
}

}  // namespace cleave
