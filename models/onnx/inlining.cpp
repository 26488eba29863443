// GraphReader: what takes the place of a node: an inlined subgraph, or an inlined function of the model.
#include "models/onnx/call.h"
#include "models/onnx/graph_reader.h"

namespace cleave::models::onnx {
namespace {

constexpr int kMostDepth = kMostNestedGraphs + 64;  ///< nesting of graphs and functions

}  // namespace

Values GraphReader::inline_graph(std::string_view graph, Values inputs, Environment& around, const SourceLocation& location) {
  const std::vector<std::string_view> declared = Call::graph_inputs(graph);
  const std::vector<std::string_view> wanted = Call::graph_outputs(graph);
  if (around.depth >= kMostDepth || declared.size() != inputs.size()) {
    error(DiagnosticKind::unsupported, location,
          around.depth >= kMostDepth
              ? "graphs and functions lie too deep inside each other"
              : "the graph inside takes " + std::to_string(declared.size()) + " values and is given " + std::to_string(inputs.size()));
    return Values(wanted.size());
  }
  Environment names;
  names.outer = &around;
  names.depth = around.depth + 1;
  names.graph = ++graphs_;
  for (std::size_t i = 0; i < declared.size(); ++i) names.values.emplace(declared[i], std::move(inputs[i]));
  state_types(graph);
  read_initializers(graph, [&](std::string_view, const auto& tensor) { declare_initializer(read(tensor), names, true); });
  read_nodes(graph, kGraphNode, names);
  Values results;
  for (const std::string_view name : wanted) {
    const Value* value = names.find(name);
    if (!value && !exhausted())
      error(DiagnosticKind::unknown, location, "the graph inside gives `" + std::string(name) + "`, which is not computed");
    results.push_back(value ? *value : Value());
  }
  return results;
}

Values GraphReader::inline_function(const FunctionProto& function, const NodeProto& node, Values operands, Environment& names) {
  const SourceLocation location = locations_.of(node);
  const Values poison(node.outputs.size());
  if (names.depth >= kMostDepth) {
    error(DiagnosticKind::unsupported, location, "functions call each other too deeply, or without an end");
    return poison;
  }
  if (operands.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    error(DiagnosticKind::type, location,
          "the function `" + std::string(function.name) + "` takes " + std::to_string(function.inputs.size()) + " values and gives " +
              std::to_string(function.outputs.size()));
    return poison;
  }
  Environment inside;
  inside.function = &function;
  inside.given = &node.attributes;
  inside.caller = &names;
  inside.depth = names.depth + 1;
  inside.graph = ++graphs_;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!node.inputs[i].empty()) inside.values.emplace(function.inputs[i], std::move(operands[i]));
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    if (i >= node.inputs.size() || node.inputs[i].empty()) inside.absent.insert(function.inputs[i]);
  tracer_.push_scope(std::string(node.name.empty() ? function.name : node.name), location);
  read_nodes(function.message, kFunctionNode, inside);
  tracer_.pop_scope();
  Values results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value* value = inside.find(function.outputs[i]);
    if (!value && !node.outputs[i].empty() && !exhausted())
      error(DiagnosticKind::unknown, location,
            "the function `" + std::string(function.name) + "` does not compute its result `" + std::string(function.outputs[i]) + "`");
    results.push_back(value ? *value : Value());
  }
  return results;
}

}  // namespace cleave::models::onnx
