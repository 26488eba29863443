// Operators of ONNX files that host functions compute (ModelOptions::host_functions): what a function is told about its node, and the types
// of its results. Functions of libraries: tests/tools/cli_onnx_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/api/executable.h"
#include "graph/call_limits.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;
using testing::text_of_diagnostics;

/// y = by x, and the number of calls.
struct Scale {
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  Result<HostFunction> operator()(const OperatorNode& node) const {
    HostFunction function{.name = node.op, .returns = {*node.inputs[0]}, .pure = true, .seconds = 2e-3};
    const auto by = static_cast<float>(std::get<double>(node.attributes.at("by")));
    function.call = [by, calls = calls](std::span<const Array> in, std::span<Array> out, const CallLimits&) {
      ++*calls;
      for (std::int64_t i = 0; i < in[0].size(); ++i) out[0].mutable_data<float>()[i] = by * in[0].data<float>()[i];
      return Status();
    };
    return function;
  }
};

GraphParts scaled_parts() {
  return {.nodes = {node("Scale", {"x"}, {"a"}, {.name = "n", .attributes = {number("by", 3)}, .domain = "com.acme"}),
                    node("Neg", {"a"}, {"y"})},
          .inputs = {kX},
          .outputs = {untyped("y")}};
}
Graph read_with(const GraphParts& parts, std::map<std::string, OperatorFunction> functions, ModelOptions options = {}) {
  options.host_functions = std::move(functions);
  Graph graph = parse_onnx(model(graph_of(parts)), "m.onnx", options);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

TEST(OnnxHostFunctions, ComputeNodesOfOperatorsThatAreNotRead) {
  const Scale scale;
  const Graph graph = read_with(scaled_parts(), {{"com.acme.Scale", scale}});
  for (const char* device : {"none", "simulated"}) {
    const Result<Executable> program = compile(graph, {.device = device});
    ASSERT_TRUE(program) << program.error().message;
    const Result<RunResult> run = program->run({{"x", Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(to_string(*run->output("y")), "[[-3.0, -6.0, -9.0], [-12.0, -15.0, -18.0]]");
  }
  EXPECT_EQ(*scale.calls, 2);
}

TEST(OnnxHostFunctions, HaveTheirCostAndTheirNodeInThePlan) {
  const Result<Executable> program = compile(read_with(scaled_parts(), {{"com.acme.Scale", Scale()}}), {.device = "simulated"});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_THAT(program->json(), HasSubstr("m.onnx: node n (Scale)"));
  EXPECT_THAT(program->explain(), HasSubstr("2.0 ms"));
}

/// What each node says, as one text.
TEST(OnnxHostFunctions, AreToldTheAttributesAndTypesOfTheirNode) {
  std::vector<OperatorNode> nodes;
  const OperatorFunction listen = [&](const OperatorNode& node) -> Result<HostFunction> {
    nodes.push_back(node);
    return HostFunction{.name = node.op, .returns = std::vector<TensorType>(node.results.size(), TensorType{DType::f32, {}})};
  };
  const Message all = node("Op", {"x", "", "w"}, {"y", "", "z"},
                           {.name = "n",
                            .attributes = {number("f", 0.5F), integer("i", -7), text("t", "words"), integers("l", {1, 2}),
                                           Message().text(1, "fs").fixed32(7, 1.5F).varint(20, 6),
                                           Message().text(1, "ts").text(9, "a").text(9, "b").varint(20, 8),
                                           tensor_attribute("v", floats("", {2}, {8, 9})), Message().text(1, "old").varint(3, 4)}});
  const Graph graph = read_with({.nodes = {all},
                                 .inputs = {value_info("x", kFloat, {-2, 3})},
                                 .outputs = {value_info("y", kInt64, {-2, 4}), untyped("z")},
                                 .initializers = {floats("w", {}, {1})}},
                                {{"Op", listen}}, {.dims = {{"batch", 5}}});
  ASSERT_EQ(nodes.size(), 1u) << text_of_diagnostics(graph);
  const OperatorNode& told = nodes.front();
  EXPECT_EQ(told.op, "Op");
  EXPECT_EQ(told.name, "n");
  ASSERT_EQ(told.inputs.size(), 3u);
  EXPECT_EQ(to_string(*told.inputs[0]) + " " + to_string(*told.inputs[2]), "f32[5, 3] f32[]");
  EXPECT_FALSE(told.inputs[1]);
  ASSERT_EQ(told.results.size(), 2u) << "those that the node names";
  EXPECT_EQ(to_string(*told.results[0]), "i64[5, 4]");
  EXPECT_FALSE(told.results[1]);
  EXPECT_EQ(told.sizes.at("batch"), 5);
  const auto& given = told.attributes;
  EXPECT_EQ(given.size(), 8u);
  EXPECT_EQ(std::get<double>(given.at("f")), 0.5);
  EXPECT_EQ(std::get<std::int64_t>(given.at("i")), -7);
  EXPECT_EQ(std::get<std::string>(given.at("t")), "words");
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(given.at("l")), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::vector<double>>(given.at("fs")), (std::vector<double>{1.5}));
  EXPECT_EQ(std::get<std::vector<std::string>>(given.at("ts")), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(to_string(std::get<Array>(given.at("v"))), "[8.0, 9.0]");
  EXPECT_EQ(std::get<std::int64_t>(given.at("old")), 4) << "its kind is not stated";
}

TEST(OnnxHostFunctions, GiveTheTypesThatTheFileStates) {
  const OperatorFunction any = [](const OperatorNode& node) -> Result<HostFunction> { return HostFunction{.name = node.op}; };
  GraphParts parts = scaled_parts();
  parts.values = {value_info("a", kFloat, {7})};
  const Graph graph = read_with(parts, {{"com.acme.Scale", any}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[7]");
  EXPECT_EQ(
      text_of_diagnostics(read_with(scaled_parts(), {{"com.acme.Scale", any}})),
      "m.onnx: node n (Scale): error: the file does not state the whole type of `a`; state it for the host function of `com.acme.Scale`: "
      "--host-function com.acme.Scale=LIBRARY:SYMBOL:TYPE, or above a function in Python @cleave.host_function(TYPE)\n");
}

/// Types inside of an inner graph are stated there.
TEST(OnnxHostFunctions, WorkInsideOfInnerGraphs) {
  const Message arm = graph_of({.nodes = {node("Foo", {"x"}, {"f"}), node("Neg", {"f"}, {"r"})},
                                .outputs = {untyped("r")},
                                .values = {value_info("f", kFloat, {2, 3})}});
  const GraphParts parts{
      .nodes = {node("If", {"c"}, {"y"}, {.attributes = {graph_attribute("then_branch", arm), graph_attribute("else_branch", arm)}})},
      .inputs = {kX, value_info("c", kBool, {})},
      .outputs = {untyped("y")}};
  const Graph graph =
      read_with(parts, {{"Foo", [](const OperatorNode& node) -> Result<HostFunction> { return HostFunction{.name = node.op}; }}});
  EXPECT_TRUE(graph.ok()) << text_of_diagnostics(graph);
}

TEST(OnnxHostFunctions, TakePrecedenceOverWhatIsRead) {
  const GraphParts parts{
      .nodes = {node("LeakyRelu", {"x"}, {"y"}, {.attributes = {number("by", 2)}})}, .inputs = {kX}, .outputs = {untyped("y")}};
  EXPECT_FALSE(read_with(parts, {}).ok()) << "there is no such attribute";
  EXPECT_TRUE(read_with(parts, {{"LeakyRelu", Scale()}}).ok());
}

/// A YAML model that calls a file of one operator.
std::string called_from_yaml(const std::string& functions, const std::string& type = "f32[2, 3]") {
  const test::TemporaryFolder folder;
  folder.write("net.onnx", model(graph_of({.nodes = {node("Scale", {"x"}, {"y"}, {.name = "n", .domain = "com.acme"})},
                                           .inputs = {value_info("x", kFloat, {-2, 3})},
                                           .outputs = {untyped("y")}})));
  const std::string text = "cleave: 1\nhost_functions:\n  scale: {library: l.so, takes: [\"" + type + "\"], returns: \"" + type +
                           "\", pure: true}\nmodels:\n  net: {file: net.onnx, parameters: none, host_functions: " + functions +
                           "}\ninputs: {x: \"f32[2, 3]\"}\nprogram:\n  - y: net(x)\noutputs: [y]\n";
  const Graph graph = parse_model(text, folder.path("model.yaml"));
  std::string said = text_of_diagnostics(graph);
  for (std::size_t at = said.find(folder.path("")); at != std::string::npos; at = said.find(folder.path("")))
    said.erase(at, folder.path("").size());
  return said;
}

TEST(OnnxHostFunctions, OfAYamlModelComputeOperatorsOfAFileThatItCalls) {
  EXPECT_EQ(called_from_yaml("{com.acme.Scale: scale}"), "");
  EXPECT_THAT(called_from_yaml("{com.acme.Scale: scal}"), HasSubstr("there is no host function `scal`; did you mean `scale`?"));
  EXPECT_THAT(called_from_yaml("scale"), HasSubstr("`host_functions` has operators of the file and host functions"));
  EXPECT_THAT(called_from_yaml("{com.acme.Scale: scale}", "f32[7]"),
              HasSubstr("the host function `scale` of `com.acme.Scale` takes f32[7], and the node has f32[2, 3]"));
  EXPECT_THAT(called_from_yaml("{}"), HasSubstr("the operator `com.acme.Scale` is not supported"));
}

TEST(OnnxHostFunctions, MistakesAreErrorsAtTheNode) {
  const auto with = [](const OperatorFunction& function) {
    return text_of_diagnostics(read_with(scaled_parts(), {{"com.acme.Scale", function}}));
  };
  EXPECT_EQ(with([](const OperatorNode&) -> Result<HostFunction> { return Error{"by is odd"}; }),
            "m.onnx: node n (Scale): error: the host function of `com.acme.Scale`: by is odd\n");
  EXPECT_EQ(with([](const OperatorNode&) -> Result<HostFunction> {
              return HostFunction{.name = "f", .returns = {{}, {}}};
            }),
            "m.onnx: node n (Scale): error: the host function of `com.acme.Scale` gives 2 results, and the node has 1\n");
  EXPECT_EQ(with(library_operator("lib.so", "f", {"f32[batch]"})),
            "m.onnx: node n (Scale): error: the host function of `com.acme.Scale`: the extent `batch` of `f32[batch]` is no size that is "
            "known\n");
  EXPECT_EQ(with(library_operator("lib.so", "f", {"word"})),
            "m.onnx: node n (Scale): error: the host function of `com.acme.Scale`: `word` is no type such as f32[batch, 4]\n");
  EXPECT_EQ(text_of_diagnostics(
                read_with({.nodes = {node("Neg", {"x"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}}, {{"com.acme.Scal", Scale()}})),
            "m.onnx: error: --host-function com.acme.Scal: the model has no node of this operator\n");
  const GraphParts inner{.nodes = {node("Op", {"x"}, {"y"}, {.name = "n", .attributes = {graph_attribute("body", graph_of({}))}})},
                         .inputs = {kX},
                         .outputs = {untyped("y")}};
  EXPECT_EQ(
      text_of_diagnostics(read_with(inner, {{"Op", Scale()}})),
      "m.onnx: node n (Op): error: a host function does not take the attribute `body` of `Op`: it is no number, text, tensor or list of "
      "these\n");
  const GraphParts counted{.nodes = {node("NonZero", {"x"}, {"places"}), node("Op", {"places"}, {"y"}, {.name = "n"})},
                           .inputs = {kX},
                           .outputs = {untyped("y")}};
  EXPECT_EQ(text_of_diagnostics(read_with(counted, {{"Op", Scale()}})),
            "m.onnx: node n (Op): error: a host function needs to know how large `places` is, and that depends on data\n");
}

}  // namespace
}  // namespace cleave
