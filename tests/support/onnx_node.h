// One node of an ONNX file, read and run by the reference implementations: for tests of lowerings.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave::onnx_file {

inline Message numbers(std::string_view name, const std::vector<float>& values) {
  Message attribute = Message().text(1, name);
  for (const float value : values) attribute.fixed32(7, value);
  return attribute.varint(20, 6);
}
inline Message texts(std::string_view name, const std::vector<std::string_view>& values) {
  Message attribute = Message().text(1, name);
  for (const std::string_view value : values) attribute.text(9, value);
  return attribute.varint(20, 8);
}

struct OneNode {
  std::string_view op;
  std::int64_t version = 18;
  std::vector<Message> operands;  ///< initializers
  std::vector<std::string_view> names = {"x"};
  std::vector<Message> attributes = {};
  std::vector<std::string_view> results = {"y"};
  std::vector<Message> inputs = {};  ///< without values
  std::string domain = {};
};

inline Graph read(const OneNode& of) {
  std::vector<Message> outputs;
  for (const std::string_view name : of.results)
    if (!name.empty()) outputs.push_back(untyped(name));
  const GraphParts parts{{node(of.op, of.names, of.results, {.name = "n", .attributes = of.attributes, .domain = of.domain})},
                         of.inputs,
                         outputs,
                         of.operands};
  Graph graph = parse_onnx(model(graph_of(parts), of.version), "m.onnx", {});
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}
inline std::string said(const OneNode& of) {
  return to_text(read(of).diagnostics, {.color = false, .source = false});
}
/// The text of all results, concatenated.
inline std::string results(const OneNode& of) {
  const Graph graph = read(of);
  if (!graph.ok()) return ADD_FAILURE() << to_text(graph.diagnostics, {.color = false, .source = false}), std::string();
  const Result<RunResult> run = runtime::run_reference(graph, {});
  if (!run) return ADD_FAILURE() << run.error().message, std::string();
  std::string all;
  for (const auto& [name, array] : run->outputs) all += to_string(array);
  return all;
}
/// The operations that the node is lowered to, as text, without constants.
inline std::string operations(const OneNode& of) {
  const Graph graph = read(of);
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics, {.color = false, .source = false});
  std::string names;
  for (const auto& each : graph.nodes)
    if (each.kind == NodeKind::operation) names += (names.empty() ? "" : " ") + std::string(each.op->name);
  return names;
}

}  // namespace cleave::onnx_file
