// `gradient` by groups and `each` in YAML models: the graphs that they are read into, and mistakes that are found once the graph is
// differentiated.
#include <gtest/gtest.h>

#include "graph/base/diagnostic_text.h"
#include "graph/gradient/differentiate.h"
#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

const std::string kHead =
    "inputs:\n  x: f32[4, 2]\n  n: i32[]\n"
    "parameters:\n"
    "  net:\n    first: {w: {type: \"f32[2, 2]\", normal: [0, 1]}, b: \"f32[2]\"}\n    scale: {type: \"f32[]\", value: 1}\n"
    "functions:\n"
    "  predict: {takes: [x, p], do: [{y: \"(matmul(x, p.first.w) + p.first.b) * p.scale\"}], returns: y}\n"
    "  descend: {takes: [w, g, rate], do: [{w: w - rate * g}], returns: w}\n"
    "  both: {takes: [w, g, rate], do: [{h: rate * g}, {w: w - h}], returns: \"w, h\"}\n"
    "program:\n"
    "  - loss: mean(square(predict(x, net)))\n";

Graph traced(const std::string& program) {
  Graph graph = parse_model(kHead + program, "models/test.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

const std::string kByHand =
    "  - \"dw, db, ds\": gradient(loss, net.first.w, net.first.b, net.scale)\n"
    "  - net.first.w: descend(net.first.w, dw, 0.1)\n"
    "  - net.first.b: descend(net.first.b, db, 0.1)\n"
    "  - net.scale: descend(net.scale, ds, 0.1)\n"
    "outputs: [net]\n";

TEST(GroupCalls, GradientByAGroupIsAGroup) {
  const Graph by_hand = traced(kByHand);
  EXPECT_TRUE(same_program(traced("  - g: gradient(loss, net)\n  - net: each(descend, net, g, rate=0.1)\noutputs: [net]\n"), by_hand));
  EXPECT_TRUE(same_program(traced("  - net: each(descend, net, gradient(loss, net), 0.1)\noutputs: [net]\n"), by_hand));
  EXPECT_TRUE(same_program(traced("  - \"f, s\": gradient(loss, net.first, net.scale)\n"
                                  "  - g: {scale: s, first: f}\n"  // members in another order
                                  "  - net: each(descend, rate=0.1, g=g, w=net)\noutputs: [net]\n"),
                           by_hand));
  EXPECT_TRUE(same_program(
      traced("  - \"dw, db, ds\": gradient(loss, [net.first.w, net.first.b, net.scale])\n" + kByHand.substr(kByHand.find('\n') + 1)),
      by_hand));
}

TEST(GroupCalls, EachGivesAsManyGroupsAsTheFunctionHasResults) {
  const Graph graph =
      traced("  - \"net, h\": each(both, net, gradient(loss, net), 0.1)\n  - norm: sum(h.first.w)\noutputs: [net, h, norm]\n");
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  EXPECT_EQ(names, (std::vector<std::string>{"net.first.w", "net.first.b", "net.scale", "h.first.w", "h.first.b", "h.scale", "norm"}));
}

TEST(GroupCalls, EachCallsOperationsToo) {
  const Graph graph =
      traced("  - half: each(astype, net, dtype=bf16)\n  - y: predict(x, half)\n  - zero: each(zeros_like, net)\noutputs: [half, zero]\n");
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "bf16[2, 2]");
  EXPECT_EQ(to_string(graph.values[graph.outputs[3].value].type), "f32[2, 2]");
}

TEST(GroupCalls, AFunctionMayAskForAGradient) {
  const Graph graph = traced(
      "  - for: i in 3\n    do:\n      - loss: mean(square(predict(x, net)))\n"
      "      - net: each(descend, net, gradient(loss + mean(stop_gradient(x)), net), 0.1)\noutputs: [net]\n");
  const Graph differentiated = differentiate(graph);
  EXPECT_TRUE(differentiated.ok()) << to_text(differentiated.diagnostics);
  EXPECT_FALSE(has_gradient_calls(differentiated));
}

TEST(GroupCalls, FunctionsComeFromIncludedFiles) {
  const std::string text =
      "inputs: {x: \"f32[2]\"}\nparameters:\n  p: {w: {type: \"f32[2]\", value: 1}, b: {type: \"f32[]\", value: 1}}\n"
      "  speed: {like: p, value: 0}\n"
      "functions:\n  sgd: {takes: [w], do: [{w: w * 2}], returns: w}\n"
      "program:\n  - \"p, speed\": each(momentum, p, gradient(sum(p.w * x) + p.b, p), speed, rate=0.1, momentum=0.8)\n  - x: sgd(x)\n"
      "outputs: [p, x]\n";
  const Graph graph = parse_model("include: optimizers.yaml\n" + text, "models/test.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  ASSERT_EQ(graph.outputs.size(), 3u);
  const SourceLocation& update = graph.producer(graph.outputs[0].value).location;
  EXPECT_EQ(*update.file, "share/cleave/optimizers.yaml");
  ASSERT_TRUE(update.via);
  EXPECT_EQ(to_string(update.via->location), "models/test.yaml:9:17");
  EXPECT_EQ(to_string(graph.producer(graph.outputs[2].value).location), "models/test.yaml:7:32");  // the model's own function
  const auto& values = graph.values;
  EXPECT_EQ(to_string(values[graph.outputs[0].value].type) + to_string(values[graph.outputs[1].value].type), "f32[2]f32[]");
}

std::string said_by_differentiate(const std::string& program) {
  const Graph graph = differentiate(traced(program));
  std::string text;
  for (const Diagnostic& diagnostic : graph.diagnostics)
    if (diagnostic.severity == Severity::error)
      text += to_string(diagnostic.location) + ": " + std::string(to_string(diagnostic.severity)) + ": " + diagnostic.message + "\n";
  return text;
}

TEST(GroupCalls, MistakesInGradientsAreAtTheCall) {
  const auto error = [](const std::string& name, int line, int column) {
    return "models/test.yaml:" + std::to_string(line) + ":" + std::to_string(column) + ": error: the loss does not depend on `" + name +
           "`, so there is no gradient by it\n";
  };
  EXPECT_EQ(said_by_differentiate("  - other: zeros([2]) + 1\n  - g: gradient(loss, other)\noutputs: [g]\n"), error("other", 15, 8));
  EXPECT_EQ(said_by_differentiate("  - other: {b: net.first.b, n: \"zeros([2]) * 2.0\"}\n  - g: gradient(loss, other)\noutputs: [g]\n"),
            error("other.n", 15, 8));
  EXPECT_EQ(said_by_differentiate("  - g: 2 * gradient(sum(round(net.first.w)), net.first.w)\noutputs: [g]\n"),
            error("net.first.w", 14, 12));
}

}  // namespace
}  // namespace cleave::testing
