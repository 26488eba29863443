// ONNX files as functions of a program, in YAML and C++: results, gradients by their weights (central differences, and PyTorch's training
// of the same file, tests/reference/fine_tuning.py), places of messages, and mistakes, each one error at the user's line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/ops/gradient.h"
#include "graph/ops/losses.h"
#include "graph/ops/ops.h"
#include "graph/ops/optim.h"
#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "models/network.h"
#include "models/onnx/onnx_function.h"
#include "tests/support/command.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/gradient_check.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using models::OnnxFunction;
using test::TemporaryFolder;
using testing::text_of_diagnostics;

constexpr int kDoubleElements = 11, kInt8Elements = 3;

/// y = tanh(x w + b) v, with a scalar that is no weight and a shape.
std::string perceptron() {
  return model(
      graph_of({.nodes = {node("MatMul", {"x", "w"}, {"h"}, {.name = "first"}), node("Add", {"h", "b"}, {"s"}, {.name = "bias"}),
                          node("Tanh", {"s"}, {"t"}, {.name = "act"}), node("Mul", {"t", "half"}, {"u"}, {.name = "scaled"}),
                          node("MatMul", {"u", "v"}, {"r"}, {.name = "second"}), node("Reshape", {"r", "shape"}, {"y"}, {.name = "flat"})},
                .inputs = {value_info("x", kFloat, {-2, 2})},
                .outputs = {untyped("y")},
                .initializers = {floats("w", {2, 3}, {0.1F, -0.2F, 0.3F, 0.4F, 0.5F, -0.6F}), floats("b", {3}, {0, 0.1F, 0.2F}),
                                 floats("half", {}, {0.5F}), floats("v", {3, 1}, {1, -1, 0.5F}), int64s("shape", {1}, {-1})}}));
}

/// The diagnostics of a program that calls the perceptron as `net`.
struct Program {
  TemporaryFolder folder;
  Graph graph;

  explicit Program(const std::string& text, const std::string& net = perceptron()) {
    folder.write("net.onnx", net);
    graph = read_model(folder.write("model.yaml", text));
    EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  }
  /// With the folder's name taken out.
  [[nodiscard]] std::string said() const {
    std::string text = to_text(graph.diagnostics, {.color = false, .source = false});
    const std::string place = folder.path("");
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place)) text.erase(at, place.size());
    return text;
  }
  [[nodiscard]] std::string output(const std::string& name, std::map<std::string, Array> inputs = {}) const {
    if (!graph.ok()) return said();
    const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
    return result ? to_string(*result->output(name)) : result.error().message;
  }
};

const std::string kHead = "models: {net: net.onnx}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n";

// --- what a call computes ----------------------------------------------------------------------------------------------------------------

TEST(OnnxFunctions, ACallGivesWhatTheFileAloneGives) {
  const Array x = Array::of<float>({2, 2}, {1, 2, -1, 0.5F});
  const Program called(kHead + "  - y: net(x)\noutputs: [y]\n");
  const Result<RunResult> alone =
      runtime::run_reference(parse_onnx(perceptron(), "net.onnx", {.dims = {{"batch", 2}}}), {.inputs = {{"x", x}}});
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(called.output("y", {{"x", x}}), to_string(*alone->output("y")));
}

TEST(OnnxFunctions, AreCalledWithSeveralSizesAndByNameAndFromFunctions) {
  const Program called(
      "models: {net: net.onnx}\ninputs: {x: \"f32[2, 2]\", z: \"f32[5, 2]\"}\nfunctions:\n  twice:\n    takes: [net, x]\n    do:\n      - "
      "y: net(x) + net(x)\n"
      "    returns: y\n  other:\n    takes: [w, x]\n    do:\n      - y: net(x=x, parameters=w)\n    returns: y\nprogram:\n"
      "  - same: all(twice(net, x) == 2 * net(x)) and all(other(net, z) == net(z))\n  - zero: other(each(zeros_like, net), z)\n"
      "outputs: [same, zero]\n");
  EXPECT_EQ(called.output("same", {{"x", Array::of<float>({2, 2}, {1, 2, 3, 4})}, {"z", Array(TensorType{DType::f32, {5, 2}})}}), "true");
  EXPECT_EQ(called.output("zero", {{"x", Array::of<float>({2, 2}, {1, 2, 3, 4})}, {"z", Array(TensorType{DType::f32, {5, 2}})}}),
            "[0.0, 0.0, 0.0, 0.0, 0.0]");
}

TEST(OnnxFunctions, WeightsAreAGroupOfParametersWithoutScalarsAndShapes) {
  const Program program(kHead + "  - y: net(x)\noutputs: [y]\nresident: [net]\n");
  ASSERT_TRUE(program.graph.ok()) << program.said();
  std::vector<std::string> states;
  for (const GraphState& state : states_of(program.graph)) states.push_back(program.graph.values[state.value].name);
  EXPECT_EQ(states, (std::vector<std::string>{"net.w", "net.b", "net.v"}));
}

TEST(OnnxFunctions, PatternsChooseWeights) {
  const auto parameters = [](const std::string& patterns) {
    const Program program("models: {net: {file: net.onnx, parameters: " + patterns +
                          "}}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n  - y: net(x)\noutputs: [y]\n");
    if (!program.graph.ok()) return program.said();
    std::string names;
    for (const Node& each : program.graph.nodes)
      if (each.kind == NodeKind::parameter) names += program.graph.values[each.results[0]].name + " ";
    return names;
  };
  EXPECT_EQ(parameters("all"), "net.w net.b net.v ");
  EXPECT_EQ(parameters("none"), "");
  EXPECT_EQ(parameters("[v, w]"), "net.w net.v ");
  EXPECT_EQ(parameters("\"?\""), "net.w net.b net.v ");
  EXPECT_EQ(parameters("\"*a*\""),
            "model.yaml:1:44: error: `net.onnx`: `*a*` chooses no parameter: of `shape`, its elements are i64, and only "
            "floating-point weights are trained\n");
  EXPECT_EQ(parameters("half"), "net.half ");  // a scalar by its name alone
  EXPECT_EQ(parameters("ww"), "model.yaml:1:44: error: `net.onnx`: no initializer matches `ww`; did you mean `w`?\n");
}

TEST(OnnxFunctions, ThePatternsOfTheCommandLineMakeStatesOfWeights) {
  const Graph graph = parse_onnx(perceptron(), "net.onnx", {.dims = {{"batch", 2}}, .parameters = {"all"}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_TRUE(verify(graph).empty());
  const std::vector<GraphState> states = states_of(graph);
  ASSERT_EQ(states.size(), 3U);
  for (const GraphState& state : states) EXPECT_TRUE(state.fixed());
  EXPECT_EQ(text_of_diagnostics(parse_onnx(perceptron(), "net.onnx", {.parameters = {"q*"}})),
            "net.onnx: error: --parameters: no initializer matches `q*`; there are `w`, `b`, `half`, …\n");
}

// --- gradients ---------------------------------------------------------------------------------------------------------------------------

Message doubles(std::string_view name, std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(0.1 * static_cast<double>((i * 7 + 3) % 11 - 5));
  return raw_tensor(name, kDoubleElements, shape, values);
}

/// Central differences of the sum of squares of a network's results, by its input and all its weights.
void check_gradients(const std::string& net, const Shape& x) {
  const TemporaryFolder folder;
  const Result<std::shared_ptr<OnnxFunction>> function = OnnxFunction::open(folder.write("net.onnx", net), {.parameters = {"all"}});
  ASSERT_TRUE(function) << function.error().message;
  testing::NamedArrays inputs;
  const auto add = [&](const std::string& name, const Shape& shape) {
    Array array(TensorType{DType::f64, shape});
    for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<double>()[i] = 0.09 * static_cast<double>((i * 5 + 2) % 13) - 0.5;
    inputs.emplace(name, std::move(array));
  };
  add("x", x);
  for (const auto& [name, type] : (*function)->weights()) add(name, type.shape);
  const auto loss = [&](Tracer& tracer, const std::map<std::string, Operand>& given) {
    std::vector<Operand> weights;
    for (const auto& [name, type] : (*function)->weights()) weights.push_back(given.at(name));
    const Operand argument = given.at("x");
    const OnnxFunction::Called called = (*function)->call(tracer, "net", std::span(&argument, 1), weights, {});
    EXPECT_FALSE(called.mistake) << called.mistake->message;
    return tracer.call(op::sum, std::vector<Operand>{tracer.call(op::square, std::vector<Operand>{called.results[0]}, {}, {})}, {}, {});
  };
  for (const testing::GradientDifference& each : testing::compare_gradients(inputs, loss, 5)) {
    EXPECT_EQ(each.error, "");
    EXPECT_LT(each.relative(), 1e-6) << each.by_gradient << " and " << each.by_difference;
  }
}

TEST(OnnxFunctions, GradientsOfAPerceptronAreCentralDifferences) {
  check_gradients(
      model(graph_of({.nodes = {node("Gemm", {"x", "w", "b"}, {"h"}), node("Tanh", {"h"}, {"t"}), node("Gemm", {"t", "v"}, {"y"})},
                      .inputs = {value_info("x", kDoubleElements, {-2, 4})},
                      .outputs = {untyped("y")},
                      .initializers = {doubles("w", {4, 5}), doubles("b", {5}), doubles("v", {5, 2})}})),
      {3, 4});
}

TEST(OnnxFunctions, GradientsOfAConvolutionAreCentralDifferences) {
  check_gradients(
      model(graph_of(
          {.nodes = {node("Conv", {"x", "k", "c"}, {"h"}, {.attributes = {integers("pads", {1, 1, 1, 1})}}), node("Sigmoid", {"h"}, {"s"}),
                     node("AveragePool", {"s"}, {"p"}, {.attributes = {integers("kernel_shape", {2, 2}), integers("strides", {2, 2})}}),
                     node("Flatten", {"p"}, {"f"}), node("MatMul", {"f", "v"}, {"y"})},
           .inputs = {value_info("x", kDoubleElements, {-2, 2, 4, 4})},
           .outputs = {untyped("y")},
           .initializers = {doubles("k", {3, 2, 3, 3}), doubles("c", {3}), doubles("v", {12, 2})}})),
      {2, 2, 4, 4});
}

/// fine_tuning.onnx is trained as PyTorch trained it.
TEST(OnnxFunctions, TrainingAFileOfPyTorchGivesItsLossesAndWeights) {
  const nlohmann::json figures = nlohmann::json::parse(testing::read_file(testing::source_dir() + "/tests/reference/fine_tuning.json"));
  const std::string steps = std::to_string(figures.at("steps").get<int>());
  const Graph graph = parse_model(
      "include: optimizers.yaml\nmodels: {net: fine_tuning.onnx}\nparameters:\n  speed: {like: net, value: 0}\nprogram:\n"
      "  - x: reshape(astype((arange(576) * 37 + 11) % 64 - 32, f32), [8, 2, 6, 6]) / 16\n  - y: arange(8) % 4\n"
      "  - losses: zeros([" +
          steps + "])\n  - for: i in " + steps +
          "\n    do:\n      - loss: cross_entropy(net(x), y)\n"
          "      - \"net, speed\": each(momentum, net, gradient(loss, net), speed, rate=0.1)\n"
          "      - losses: dynamic_update_slice(losses, expand_dims(loss, 0), [i])\noutputs: [losses, net]\n",
      testing::source_dir() + "/tests/reference/model.yaml");
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  const Result<RunResult> result = runtime::run_reference(graph, {});
  ASSERT_TRUE(result) << result.error().message;
  const auto near = [&](const std::string& output, const nlohmann::json& wanted) {
    const Array found = *result->output(output);
    ASSERT_EQ(found.size(), static_cast<std::int64_t>(wanted.size())) << output;
    for (std::int64_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found.at(i), wanted.at(static_cast<std::size_t>(i)).get<double>(), 2e-5) << output;
  };
  near("losses", figures.at("losses"));
  EXPECT_EQ(figures.at("weights").size(), 6U);
  for (const auto& [name, values] : figures.at("weights").items()) near("net." + name, values);
}

// --- C++ ---------------------------------------------------------------------------------------------------------------------------------

TEST(OnnxFunctions, CppTracesToTheProgramOfYaml) {
  const Program yaml(
      "include: optimizers.yaml\nmodels: {net: net.onnx}\ninputs: {x: \"f32[4, 2]\", y: \"f32[4]\"}\nprogram:\n"
      "  - for: step in 10\n    do:\n      - loss: mse(net(x), y)\n      - net: each(sgd, net, gradient(loss, net), rate=0.1)\n"
      "  - y: net(x)\noutputs: [y]\n");
  ASSERT_TRUE(yaml.graph.ok()) << yaml.said();
  const Result<Network> net = Network::load(yaml.folder.path("net.onnx"), {.parameters = {"all"}});
  ASSERT_TRUE(net) << net.error().message;
  EXPECT_EQ(net->names(), (std::vector<std::string>{"w", "b", "v"}));
  const Graph traced = trace("model", {{"x", "f32[4, 2]"}, {"y", "f32[4]"}}, [&](Tensor x, Tensor y) {
    const std::vector<Tensor> weights = net->weights("net");
    const std::vector<Tensor> tuned = for_loop(10, weights, [&](Tensor, std::vector<Tensor> w) {
      const Tensor loss = mse((*net)(w, {x}), y);
      return optim::sgd(w, gradient(loss, w), {.rate = 0.1});
    });
    return named("y", (*net)(tuned, {x}));
  });
  ASSERT_TRUE(traced.ok()) << text_of_diagnostics(traced);
  const auto outputs = [](const Graph& graph) {
    const Result<RunResult> result = runtime::run_reference(
        graph, {.inputs = {{"x", Array::of<float>({4, 2}, {1, 2, 3, 4, -1, 0, 1, 1})}, {"y", Array::of<float>({4}, {1, 0, 1, 0})}}});
    return result ? to_string(result->outputs.front().second) : result.error().message;
  };
  EXPECT_EQ(outputs(traced), outputs(yaml.graph));
}

TEST(OnnxFunctions, MistakesInCppAreReportedAtTheCall) {
  const TemporaryFolder folder;
  const Result<Network> net = Network::load(folder.write("net.onnx", perceptron()), {.parameters = {"w"}});
  ASSERT_TRUE(net) << net.error().message;
  int line = 0;
  using Weights = std::vector<Tensor>;
  const auto said = [&](const std::function<Tensor(const Weights&, const Tensor&)>& call) {
    const Graph graph = trace("t", {{"x", "f32[4, 2]"}}, [&](Tensor x) { return call(net->weights("net"), x); });
    EXPECT_EQ(graph.diagnostics.size(), 1U) << text_of_diagnostics(graph);
    EXPECT_EQ(graph.diagnostics.begin()->location.line, line);
    return graph.diagnostics.begin()->message;
  };
  line = __LINE__ + 1;
  const std::string of_arguments = said([&](const Weights& w, const Tensor& x) { return (*net)(w, {x, x}); });
  EXPECT_EQ(of_arguments, "`net(x)` takes 1 argument, not 2");
  line = __LINE__ + 1;
  const std::string of_weights = said([&](const Weights&, const Tensor& x) { return (*net)({}, {x}); });
  EXPECT_EQ(of_weights, "`net` has 1 parameter, and 0 are given; `weights` declares them");
  EXPECT_EQ(Network::load(folder.path("nothing.onnx")).error().message.find("cannot read"), 0U);
}

// --- places and mistakes -----------------------------------------------------------------------------------------------------------------

TEST(OnnxFunctions, NodesNameTheFileAndTheLineOfTheCall) {
  const Program program(kHead + "  - y: net(x)\noutputs: [y]\n");
  ASSERT_TRUE(program.graph.ok()) << program.said();
  bool found = false;
  for (const Node& each : program.graph.nodes) {
    if (each.kind != NodeKind::operation || each.op->name != "tanh") continue;
    found = true;
    EXPECT_TRUE(each.location.file_name().ends_with("net.onnx: node act (Tanh)")) << each.location.file_name();
    ASSERT_TRUE(each.location.via);
    EXPECT_EQ(each.location.via->label, "net");
    EXPECT_TRUE(each.location.via->location.file_name().ends_with("model.yaml"));
    EXPECT_EQ(each.location.via->location.line, 4);
  }
  EXPECT_TRUE(found);
}

/// A node with a stack trace stands at its Python line; then come the node and the call.
TEST(OnnxFunctions, NodesOfPyTorchNameThePythonLineToo) {
  const Program program(
      kHead + "  - y: net(x)\noutputs: [y]\n",
      model(graph_of({.nodes = {node("Relu", {"x"}, {"y"},
                                     {.name = "act", .stack_trace = "  File \"net.py\", line 7, in forward\n    return relu(x)\n"})},
                      .inputs = {value_info("x", kFloat, {2, 2})},
                      .outputs = {untyped("y")},
                      .initializers = {floats("w", {1}, {1})}})));
  EXPECT_EQ(program.said(), "model.yaml:1:15: error: `net.onnx`: no initializer can be a parameter: of `w`, no node reads it\n");
  const Program frozen(
      "models: {net: {file: net.onnx, parameters: none}}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n  - y: net(x)\noutputs: [y]\n",
      model(graph_of({.nodes = {node("Relu", {"x"}, {"y"},
                                     {.name = "act", .stack_trace = "  File \"net.py\", line 7, in forward\n    return relu(x)\n"})},
                      .inputs = {value_info("x", kFloat, {2, 2})},
                      .outputs = {untyped("y")}})));
  ASSERT_TRUE(frozen.graph.ok()) << frozen.said();
  for (const Node& each : frozen.graph.nodes) {
    if (each.kind != NodeKind::operation) continue;
    EXPECT_EQ(each.location.file_name(), "net.py");
    EXPECT_EQ(each.location.line, 7);
    ASSERT_TRUE(each.location.via && each.location.via->location.via);
    EXPECT_EQ(each.location.via->label, "node act (Relu)");
    EXPECT_EQ(each.location.via->location.via->label, "net");
    EXPECT_EQ(each.location.via->location.via->location.line, 4);
  }
}

struct Mistaken {
  std::string text, said;
};

TEST(OnnxFunctions, EachMistakeIsOneErrorAtItsLine) {
  const std::vector<Mistaken> mistakes = {
      {kHead + "  - y: net(x, x)\noutputs: [y]\n", "model.yaml:4:15: error: one argument too many for `net(x)`\n"},
      {kHead + "  - y: net()\noutputs: [y]\n", "model.yaml:4:8: error: `net(x)` lacks `x`\n"},
      {kHead + "  - y: net(z=x)\noutputs: [y]\n", "model.yaml:4:12: error: `net(x)` takes no `z`\n"},
      {kHead + "  - y: net(astype(x, f64))\noutputs: [y]\n",
       "model.yaml:4:8: error: `net` takes f32[batch, 2] as `x`, not f64[2, 2]; `astype` converts it\n"},
      {kHead + "  - y: net(x[:, 0])\noutputs: [y]\n", "model.yaml:4:8: error: `net` takes f32[batch, 2] as `x`, not f32[2]\n"},
      {kHead + "  - y: net(x, parameters=x)\noutputs: [y]\n",
       "model.yaml:4:8: error: `parameters` is a group with the parameters of `net`; this one has no `w`\n"},
      {kHead + "  - half: each(astype, net, bf16)\n  - y: net(x, parameters=half)\noutputs: [y]\n",
       "model.yaml:5:8: error: the parameter `w` of `net` is f32[2, 3], not bf16[2, 3]\n"},
      {kHead + "  - y: nett(x)\noutputs: [y]\n", "model.yaml:4:8: error: unknown operation `nett`; did you mean `net`?\n"},
      {"models: {net: other.onnx}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n  - y: gradient(sum(net(x)), net)\noutputs: [y]\n",
       "model.yaml:1:15: error: cannot read `other.onnx`: No such file or directory\n"},
      {"models: {net: net.py}\nprogram:\n  - y: zeros([2])\noutputs: [y]\n",
       "model.yaml:1:15: error: a model that a program calls is an ONNX file, such as `net.onnx`\n"},
      {"models: {net: {parameters: all}}\nprogram:\n  - y: zeros([2])\noutputs: [y]\n",
       "model.yaml:1:10: error: `net` needs `file:`, the path of an .onnx file\n"},
      {"models: {net: net.onnx}\nparameters: {net: {type: \"f32[]\", value: 0}}\nprogram:\n  - y: net(ones([1, 2]))\noutputs: [y]\n",
       "model.yaml:2:14: error: `net` is a model already, with a group of parameters of this name\n"},
      {"models: {net: net.onnx}\nfunctions:\n  net:\n    takes: [x]\n    do:\n      - y: x\n    returns: y\nprogram:\n  - y: net(ones([1, "
       "2]))\noutputs: [y]\n",
       "model.yaml:1:10: error: `net` is a function already\n"},
      {"models: {net: net.onnx}\ninputs: {x: \"f32[2, 2]\"}\nfunctions:\n  f:\n    takes: [x]\n    do:\n      - y: net(x)\n    returns: "
       "y\nprogram:\n"
       "  - y: f(x)\noutputs: [y]\n",
       "model.yaml:7:12: error: a function sees what it takes: add `net` to `takes:` and to the call, or give its parameters by "
       "`net(…, parameters=…)`\nmodel.yaml:10:8: note: in `f`, from here\n"},
      {"models: {net: {file: net.onnx, parameters: none}}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n  - y: gradient(sum(net(x)), "
       "net)\noutputs: [y]\n",
       "model.yaml:4:30: error: unknown name `net`; the model of this name has no parameters: it says `parameters: none`\n"},
  };
  for (const Mistaken& each : mistakes) EXPECT_EQ(Program(each.text).said(), each.said) << each.text;
}

TEST(OnnxFunctions, AFileWithIntegerWeightsAloneHasNothingToTrain) {
  const std::string quantized =
      model(graph_of({.nodes = {node("DequantizeLinear", {"q", "scale"}, {"w"}), node("MatMul", {"x", "w"}, {"y"})},
                      .inputs = {value_info("x", kFloat, {2, 2})},
                      .outputs = {untyped("y")},
                      .initializers = {raw_tensor<std::int8_t>("q", kInt8Elements, {2, 2}, {1, 2, 3, 4}), floats("scale", {1}, {0.5F})}}));
  EXPECT_EQ(
      Program(kHead + "  - y: net(x)\noutputs: [y]\n", quantized).said(),
      "model.yaml:1:15: error: `net.onnx`: no initializer can be a parameter: of `q`, its elements are i8, and only floating-point weights "
      "are trained\n");
  EXPECT_EQ(
      Program("models: {net: {file: net.onnx, parameters: none}}\ninputs: {x: \"f32[2, 2]\"}\nprogram:\n  - y: net(x)\noutputs: [y]\n",
              quantized)
          .output("y", {{"x", Array::of<float>({2, 2}, {1, 0, 0, 1})}}),
      "[[0.5, 1.0], [1.5, 2.0]]");
}

TEST(OnnxFunctions, AMistakeInTheFileStandsAtTheCallWithItsNode) {
  const std::string broken =
      model(graph_of({.nodes = {node("MatMul", {"x", "w"}, {"h"}, {.name = "product"}), node("Strange", {"h"}, {"y"}, {.name = "s"})},
                      .inputs = {value_info("x", kFloat, {-2, 2})},
                      .outputs = {untyped("y")},
                      .initializers = {floats("w", {2, 1}, {1, 2})}}));
  EXPECT_EQ(Program(kHead + "  - y: net(x)\noutputs: [y]\n", broken).said(),
            "model.yaml:4:8: error: `net` cannot be called with these arguments: the operator `Strange` is not supported\n"
            "net.onnx: node s (Strange): note: in the file\n"
            "note: a host function can compute it: --host-function Strange=LIBRARY.so:SYMBOL, in Python host_functions={\"Strange\": f}\n");
}

TEST(OnnxFunctions, AnArmThatCannotBeReadFailsOnlyIfItIsTaken) {
  const std::string net = model(graph_of(
      {.nodes = {node(
           "If", {"c"}, {"y"},
           {.name = "choose",
            .attributes = {graph_attribute("then_branch", graph_of({.nodes = {node("Mul", {"x", "w"}, {"a"})}, .outputs = {untyped("a")}})),
                           graph_attribute("else_branch",
                                           graph_of({.nodes = {node("Strange", {"x"}, {"b"})}, .outputs = {untyped("b")}}))}})},
       .inputs = {value_info("x", kFloat, {2}), value_info("c", kBool, {})},
       .outputs = {untyped("y")},
       .initializers = {floats("w", {2}, {3, 4})}}));
  const Program program(
      "models: {net: net.onnx}\ninputs: {x: \"f32[2]\", c: \"bool[]\"}\nprogram:\n  - for: i in 3\n    do:\n      - x: net(x, c)\n"
      "outputs: [x]\n",
      net);
  const Array x = Array::of<float>({2}, {1, 1});
  EXPECT_EQ(program.output("x", {{"x", x}, {"c", Array::scalar<bool>(true)}}), "[27.0, 64.0]");
  EXPECT_NE(program.output("x", {{"x", x}, {"c", Array::scalar<bool>(false)}}).find("the operator `Strange` is not supported"),
            std::string::npos);
}

TEST(OnnxFunctions, AWeightMayHaveTheNameOfACount) {
  const std::string net = model(graph_of({.nodes = {node("NonZero", {"x"}, {"y"}, {.name = "n"}), node("Add", {"x", "y.count"}, {"z"})},
                                          .inputs = {value_info("x", kFloat, {2})},
                                          .outputs = {untyped("y"), untyped("z")},
                                          .initializers = {floats("y.count", {2}, {3, 4})}}));
  const Graph graph = parse_onnx(net, "net.onnx", {.parameters = {"all"}, .bounds = {{"n", 2}}});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.outputs[0].lengths, (std::vector<Output::Length>{{1, "y.count_"}}));
}

TEST(OnnxFunctions, SizesOfOneNameAreEqual) {
  const std::string two = model(graph_of({.nodes = {node("Add", {"x", "z"}, {"s"}), node("Mul", {"s", "w"}, {"y"})},
                                          .inputs = {value_info("x", kFloat, {-2, 2}), value_info("z", kFloat, {-2, 2})},
                                          .outputs = {untyped("y")},
                                          .initializers = {floats("w", {2}, {1, 2})}}));
  EXPECT_EQ(Program(kHead + "  - y: net(x, ones([3, 2]))\noutputs: [y]\n", two).said(),
            "model.yaml:4:8: error: `net` takes one size `batch`, but it is 2 in `x` and 3 in `z`\n");
}

TEST(OnnxFunctions, AModelThatIsNotCalledIsOneWarning) {
  EXPECT_EQ(Program(kHead + "  - y: x + 1\noutputs: [y]\n").said(),
            "model.yaml:1:10: warning: the model `net` is never called [-Wunused]\n");
}

}  // namespace
}  // namespace cleave
