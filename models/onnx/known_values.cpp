#include "models/onnx/known_values.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/graph.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::size_t kMostLookedAt = 10'000;  ///< values visited for a message

Array array_of(const Literal& literal) {
  switch (literal.type) {
    case Literal::Type::boolean: return Array::scalar<bool>(literal.integer != 0);
    case Literal::Type::integer:
      if (!std::in_range<std::int32_t>(literal.integer)) return Array::scalar<std::int64_t>(literal.integer);
      return Array::scalar<std::int32_t>(static_cast<std::int32_t>(literal.integer));
    case Literal::Type::floating: break;
  }
  return Array::scalar<float>(static_cast<float>(literal.floating));
}

/// Whether a node is deterministic and runs without a host function.
bool repeatable(const Node& node) {
  return node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure && !node.host_function() &&
         !node.attributes.find("seed");
}

}  // namespace

std::optional<Array> KnownValues::of(const Operand& operand) {
  if (operand.literal) return array_of(*operand.literal);
  if (!operand.value.valid()) return std::nullopt;
  std::vector<ValueId> open{operand.value};
  while (!open.empty()) {
    const std::optional<ValueId> missing = fill(open.back());
    if (missing)
      open.push_back(*missing);
    else
      open.pop_back();
  }
  return known_.at(operand.value.index);
}

std::optional<ValueId> KnownValues::fill(ValueId value) {
  if (known_.contains(value.index)) return std::nullopt;
  const Graph& graph = tracer_.graph();
  const Node& node = graph.producer(value);
  if (node.kind == NodeKind::constant) {
    known_[value.index] = node.attributes.get<Array>("value");
    return std::nullopt;
  }
  const auto large = [&](ValueId id) { return graph.values[id].type.elements() > kMostElements; };
  std::vector<Array> inputs;
  bool computable = repeatable(node) && std::none_of(node.results.begin(), node.results.end(), large);
  for (std::size_t i = 0; computable && i < node.inputs.size(); ++i) {
    const auto found = known_.find(node.inputs[i].index);
    if (found == known_.end()) return node.inputs[i];
    computable = found->second.has_value();
    if (computable) inputs.push_back(*found->second);
  }
  std::vector<Array> results;
  if (computable) {
    for (const ValueId id : node.results) results.emplace_back(graph.values[id].type);
    const OpContext context{[](std::string_view) {}};
    computable = node.op->reference({node.attributes, inputs, results, context}).ok();
  }
  for (std::size_t i = 0; i < node.results.size(); ++i)
    known_[node.results[i].index] = computable ? std::optional(std::move(results[i])) : std::nullopt;
  known_.try_emplace(value.index);  // results of control flow
  return std::nullopt;
}

std::optional<std::vector<ValueId>> KnownValues::unknown_inputs(ValueId value) const {
  const Graph& graph = tracer_.graph();
  std::vector<ValueId> open{value}, inputs;
  std::set<std::size_t> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const auto found = known_.find(id.index);
    if ((found != known_.end() && found->second) || !seen.insert(id.index).second) continue;
    if (seen.size() > kMostLookedAt) return std::nullopt;
    const Node& node = graph.producer(id);
    if (node.kind == NodeKind::input) inputs.push_back(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
    if (!repeatable(node)) return std::nullopt;
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  std::sort(inputs.begin(), inputs.end(), [](ValueId a, ValueId b) { return a.index < b.index; });
  return inputs;
}

}  // namespace cleave::models::onnx
