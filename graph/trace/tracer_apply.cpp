// Tracer: applies one op: completes attributes, promotes operands, evaluates the type rule and records the node. A composite function is
// traced into its parts.
#include "graph/trace/composer.h"
#include "graph/trace/tracer_state.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

/// Number of poisoned results of a failed call, as far as the op determines it.
std::size_t results_at_least(const OpDef& op, std::size_t inputs, const Attributes& attributes) {
  if (&op == &op::gradient) return inputs > 1 ? inputs - 1 : 1;
  for (const AttributeDef& definition : op.attributes) {
    if (definition.type != AttributeDef::Type::function) continue;
    const auto* function = attributes.get_if<std::shared_ptr<const HostFunction>>(definition.name);
    if (function && *function) return (*function)->returns.size();
  }
  return op.purity == Purity::effect ? 0 : 1;
}

bool may_fail_on_purpose(const OpDef& op) {
  for (const AttributeDef& definition : op.attributes)
    if (definition.type == AttributeDef::Type::function) return true;
  return false;
}

/// The common element type of the promoted operands.
DType common_dtype(const OpDef& op, std::span<const Operand> inputs, const Graph& graph) {
  std::optional<DType> common;
  bool weak[3] = {false, false, false};  // by Literal::Type
  for (std::size_t i = static_cast<std::size_t>(op.promote_from); i < inputs.size(); ++i) {
    if (inputs[i].literal) {
      weak[static_cast<int>(inputs[i].literal->type)] = true;
    } else {
      const DType dtype = graph.values[inputs[i].value].type.dtype;
      common = common ? promote(*common, dtype) : dtype;
    }
  }
  DType result = common.value_or(DType::boolean);
  if (weak[static_cast<int>(Literal::Type::integer)] && result == DType::boolean) result = DType::i32;
  if (weak[static_cast<int>(Literal::Type::floating)] && !is_floating(result)) result = promote(result, DType::f32);
  if (op.promotion == Promotion::floating && !is_floating(result)) result = DType::f32;
  return result;
}

}  // namespace

ValueId Tracer::State_::cast(ValueId value, DType dtype, const SourceLocation& location) {
  if (graph.values[value].type.dtype == dtype) return value;
  NodeId id = add_node(NodeKind::operation, region, location);
  Node& node = graph.nodes[id];
  node.op = &op::astype;
  node.inputs.push_back(value);
  node.attributes.set("dtype", dtype);
  if (!places.empty()) node.pin = places.back();
  return add_result(id, TensorType{dtype, graph.values[value].type.shape}, region);
}

bool Tracer::State_::check_common_type(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location) {
  std::optional<DType> met;
  for (std::size_t i = static_cast<std::size_t>(op.promote_from); i < inputs.size(); ++i) {
    if (!inputs[i].value.valid()) continue;
    const DType dtype = graph.values[inputs[i].value].type.dtype;
    if (met && !have_common_type(*met, dtype)) {
      refuse(op, DiagnosticKind::type, location,
             "`" + std::string(op.name) + "` of " + std::string(to_string(*met)) + " and " + std::string(to_string(dtype)) +
                 ": no integer type holds both; convert one of them with `astype`");
      return false;
    }
    met = met ? promote(*met, dtype) : dtype;
  }
  return true;
}

bool Tracer::State_::promote_operands(const OpDef& op, std::span<const Operand> inputs, const SourceLocation& location) {
  std::optional<DType> common;
  if (op.promotion != Promotion::none) {
    for (const Operand& input : inputs)  // must precede reading their types
      if (input.value.valid() && !check_visible(input.value, location)) return false;
    if (!check_common_type(op, inputs, location)) return false;
    common = common_dtype(op, inputs, graph);
  }
  values.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool promoted = common && static_cast<int>(i) >= op.promote_from;
    ValueId value = materialize(inputs[i], location, promoted ? common : std::nullopt, region);
    if (!value.valid()) return false;
    values.push_back(promoted ? cast(value, *common, location) : value);
  }
  return true;
}

void Tracer::State_::refuse(const OpDef& op, DiagnosticKind kind, const SourceLocation& location, std::string message) {
  const std::string name = "`" + std::string(op.name) + "`";
  if (const std::size_t at = message.find(name); !symbol.empty() && at != std::string::npos)
    message.replace(at, name.size(), "`" + std::string(symbol) + "`");
  error(kind, location, std::move(message));
}

Tracer::State_::Recorded Tracer::State_::record(const OpDef& op, std::span<const Operand> inputs, Attributes attributes,
                                                const SourceLocation& location) {
  for (const Operand& input : inputs)
    if (input.poisoned()) return {};
  if (std::optional<TypeError> refused = normalize_call(op, inputs.size(), attributes)) {
    refuse(op, refused->kind, location, std::move(refused->message));
    return {};
  }
  if (&op == &op::astype) {
    // A literal takes its type at once, so that `astype(0.1, f64)` keeps all digits.
    const DType dtype = attributes.get<DType>("dtype");
    if (inputs[0].literal && adapts(*inputs[0].literal, dtype)) {
      const ValueId value = materialize(inputs[0], location, dtype, region);
      return {value.valid(), std::nullopt, value.index, 1};
    }
  } else if (std::optional<Literal> folded = fold_literals(op, inputs, attributes)) {
    return {true, folded, 0, 1};
  }
  std::vector<Lengths> lengths_of_results;
  std::vector<Operand> masked_inputs;
  if (has_lengths(inputs)) {
    masked_inputs.assign(inputs.begin(), inputs.end());
    if (!apply_lengths(op, masked_inputs, attributes, location, lengths_of_results)) return {};
    inputs = masked_inputs;
  }
  std::optional<std::vector<TensorType>> results = checked_results(op, inputs, attributes, location);
  if (!results) return {};

  const Purity purity = op.purity_for(attributes);
  const Recompute recompute = recomputes.empty() || purity == Purity::undetermined ? Recompute::automatic : recomputes.back();
  if (recompute == Recompute::always && purity == Purity::effect) {
    error(DiagnosticKind::value, location,
          "`" + std::string(op.name) +
              "` has an effect and cannot be computed again for a gradient; `recompute: false` at this statement leaves it out");
    return {};
  }
  NodeId id = add_node(NodeKind::operation, region, location);
  Node& node = graph.nodes[id];
  node.op = &op;
  node.recompute = recompute;
  node.inputs.assign(values.begin(), values.end());
  node.attributes = std::move(attributes);
  if (!places.empty() && op.moves_to == Side::none) node.pin = places.back();
  if (!frames.empty() && op.purity_for(node.attributes) == Purity::effect && may_fail_on_purpose(op)) frames.back().may_end = true;
  const std::size_t first = graph.values.size();
  for (TensorType& result : *results) add_result(id, std::move(result), region);
  set_lengths(first, lengths_of_results);
  set_counted_length(op, graph.nodes[id].attributes, first, location);
  return {true, std::nullopt, first, results->size()};
}

std::optional<std::vector<TensorType>> Tracer::State_::checked_results(const OpDef& op, std::span<const Operand> inputs,
                                                                       const Attributes& attributes, const SourceLocation& location) {
  if (!promote_operands(op, inputs, location)) return std::nullopt;
  if (types.size() < values.size()) types.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) types[i] = graph.values[values[i]].type;
  TypeResult ruled = op.type_rule(std::span(types).first(values.size()), attributes);
  if (auto* refused = std::get_if<TypeError>(&ruled)) {
    refuse(op, refused->kind, location, std::move(refused->message));
    return std::nullopt;
  }
  auto& results = *std::get_if<std::vector<TensorType>>(&ruled);
  for (const TensorType& result : results) {
    if (checked_bytes(result)) continue;
    refuse(op, DiagnosticKind::shape, location, "the result of `" + std::string(op.name) + "` is too large: " + to_string(result));
    return std::nullopt;
  }
  return std::move(results);
}

std::vector<Operand> Tracer::compose(const OpDef& op, std::span<const Operand> inputs, Attributes attributes,
                                     const SourceLocation& location) {
  for (const Operand& input : inputs)
    if (input.poisoned()) return {1, Operand()};
  if (std::optional<TypeError> refused = normalize_call(op, inputs.size(), attributes)) {
    state_->error(refused->kind, location, std::move(refused->message));
    return {1, Operand()};
  }
  std::vector<Lengths> lengths_of_results;
  std::vector<Operand> masked_inputs;
  if (state_->has_lengths(inputs)) {
    masked_inputs.assign(inputs.begin(), inputs.end());
    if (!state_->apply_lengths(op, masked_inputs, attributes, location, lengths_of_results)) return {1, Operand()};
    inputs = masked_inputs;
  }
  const auto wanted = state_->checked_results(op, inputs, attributes, location);
  if (!wanted) return {1, Operand()};
  Parts operands;
  for (const ValueId value : state_->values) operands.emplace_back(*this, value);

  push_scope(std::string(op.name), location);
  Composer composer(*this, location);
  begin_whole();
  const Parts parts = op.expand(composer, operands, attributes);
  end_whole();
  CLEAVE_CHECK(parts.size() == wanted->size(), "a composite function gives another number of results than its type rule");
  std::vector<Operand> results;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    results.push_back(materialize(parts[i].operand(), location, (*wanted)[i].dtype));
    const TensorType* given = type(results.back());
    CLEAVE_CHECK(!given || *given == (*wanted)[i], "a composite function gives another type than its type rule");
  }
  pop_scope();
  for (std::size_t i = 0; i < results.size() && i < lengths_of_results.size(); ++i)
    for (const Length& length : lengths_of_results[i]) set_length(results[i], length.axis, length.count);
  return results;
}

std::vector<Operand> Tracer::apply(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location) {
  if (op.composite()) return compose(op, inputs, std::move(attributes), location);
  const std::size_t poisoned = results_at_least(op, inputs.size(), attributes);
  const State_::Recorded recorded = state_->record(op, inputs, std::move(attributes), location);
  if (!recorded.ok) return std::vector<Operand>(poisoned);
  if (recorded.literal) return {Operand(*recorded.literal, state_->chained(std::move(location)))};
  std::vector<Operand> results;
  results.reserve(recorded.count);
  for (std::size_t i = 0; i < recorded.count; ++i) results.emplace_back(ValueId(recorded.first + i));
  return results;
}

Operand Tracer::call(const OpDef& op, std::span<const Operand> inputs, Attributes attributes, SourceLocation location) {
  if (op.composite()) return compose(op, inputs, std::move(attributes), location).front();
  const State_::Recorded recorded = state_->record(op, inputs, std::move(attributes), location);
  if (!recorded.ok || recorded.count == 0) return {};
  if (recorded.literal) return {*recorded.literal, state_->chained(std::move(location))};
  return ValueId(recorded.first);
}

Operand Tracer::operate(std::string_view symbol, const OpDef& op, std::span<const Operand> inputs, SourceLocation location) {
  state_->symbol = symbol;
  Operand result = call(op, inputs, {}, std::move(location));
  state_->symbol = {};
  return result;
}

}  // namespace cleave
