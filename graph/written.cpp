#include "graph/written.h"

#include <array>
#include <utility>

#include "graph/array/array.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

using Operator = std::pair<std::string_view, std::string_view>;

constexpr std::array<Operator, 17> kBinary = {{{"+", "add"},
                                               {"-", "subtract"},
                                               {"*", "multiply"},
                                               {"/", "divide"},
                                               {"//", "floor_divide"},
                                               {"%", "remainder"},
                                               {"**", "pow"},
                                               {"==", "equal"},
                                               {"!=", "not_equal"},
                                               {"<", "less"},
                                               {"<=", "less_equal"},
                                               {">", "greater"},
                                               {">=", "greater_equal"},
                                               {"and", "logical_and"},
                                               {"or", "logical_or"},
                                               {"<<", "bitwise_left_shift"},
                                               {">>", "bitwise_right_shift"}}};
constexpr std::array<Operator, 2> kUnary = {{{"-", "negative"}, {"not", "logical_not"}}};
constexpr std::string_view kUnnamed = "…";

/// The name or number of an operand, ignoring conversions of its type; `…` if it has neither.
std::string operand_text(const Graph& graph, ValueId value) {
  const auto converted = [&] {
    const Node& node = graph.producer(value);
    return graph.values[value].name.empty() && node.op && node.op == &op::astype;
  };
  while (converted()) value = graph.producer(value).inputs[0];
  if (!graph.values[value].name.empty()) return graph.values[value].name;
  const Node& node = graph.producer(value);
  const Array* array = node.kind == NodeKind::constant ? node.attributes.get_if<Array>("value") : nullptr;
  if (!array || !array->type().scalar()) return std::string(kUnnamed);
  std::string number = to_string(*array);
  if (number.ends_with(".0")) number.resize(number.size() - 2);  // a literal that was given the type of the other operand
  return number;
}

}  // namespace

std::string_view operator_of(std::string_view op) {
  for (const auto& [symbol, name] : kBinary)
    if (name == op) return symbol;
  for (const auto& [symbol, name] : kUnary)
    if (name == op) return symbol;
  return {};
}

std::string_view op_of_operator(std::string_view symbol) {
  for (const auto& [written, name] : kBinary)
    if (written == symbol) return name;
  return {};
}

std::string written(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (const HostFunction* function = node.host_function(); function && !function->name.empty()) return function->name;
  if (!node.op) return graph.display_name(id);
  const std::string symbol(operator_of(node.op->name));
  if (symbol.empty()) return std::string(node.op->name);
  const std::string first = operand_text(graph, node.inputs.front());
  if (node.inputs.size() == 1) return first == kUnnamed ? symbol : symbol + (symbol == "not" ? " " : "") + first;
  const std::string second = operand_text(graph, node.inputs.back());
  return first == kUnnamed && second == kUnnamed ? symbol : first + " " + symbol + " " + second;
}

std::string culprit_name(const Graph& graph, NodeId node) {
  if (const HostFunction* function = graph.nodes[node].host_function(); function && !function->name.empty()) return function->name;
  return graph.nodes[node].op ? std::string(graph.nodes[node].op->name) : graph.display_name(node);
}

}  // namespace cleave
