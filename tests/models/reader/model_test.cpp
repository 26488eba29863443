// The meaning of YAML models, checked on the graphs that they are read into.
#include "models/model.h"
#include "graph/passes/same_program.h"

#include <gtest/gtest.h>

#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

Graph read(const std::string& text, const ModelOptions& options = {}) {
  Graph graph = parse_model(text, "models/test.yaml", options);
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

/// The graph of a program over x f32[4, 2], w f32[2, 2] and n i32[], without its leaves and locations.
std::string program(const std::string& statements, const std::string& rest = "") {
  const std::string text = "inputs:\n  x: f32[4, 2]\n  w: f32[2, 2]\n  n: i32[]\n" + rest + "program:\n" + statements;
  PrintOptions options;
  options.locations = false;
  const std::string printed = print(read(text), options);
  const std::size_t leaves = printed.find("%n.2");
  return leaves == std::string::npos ? printed : printed.substr(printed.find('\n', leaves) + 1);
}

const Node& only(const Graph& graph, NodeKind kind) {
  const Node* found = nullptr;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != kind) continue;
    EXPECT_EQ(found, nullptr);
    found = &node;
  }
  EXPECT_NE(found, nullptr);
  return *found;
}

TEST(Model, NameIsThatOfTheModelOrElseOfTheFile) {
  EXPECT_EQ(read("model: foo\nprogram:\n  - y: 1\n").name, "foo");
  EXPECT_EQ(read("program:\n  - y: 1\n").name, "test");
}

TEST(Model, DimsAreSubstitutedEverywhereAndOverridden) {
  const std::string text =
      "dims: {b: 4, c: 2 * b}\ninputs:\n  x: f32[b, c + 1]\nprogram:\n  - y: reshape(x, [b * (c + 1)]) * b\noutputs: [y]\n";
  const Graph four = read(text);
  EXPECT_EQ(to_string(four.values[four.outputs[0].value].type), "f32[36]");
  const Graph two = read(text, {{{"b", 2}}});
  EXPECT_EQ(to_string(two.values[two.outputs[0].value].type), "f32[10]");
}

TEST(Model, LeavesHaveTheirAttributes) {
  const Graph graph = read(
      "parameters:\n"
      "  a: {type: \"f32[2]\", uniform: [-1, 1], seed: 7}\n"
      "  b: {type: \"f32[2]\", normal: [0, 0.5]}\n"
      "  c: {type: \"i32[2]\", value: [3, -4]}\n"
      "  d: {type: \"f64[]\", value: 2.5}\n"
      "program:\n  - y: a + b\n");
  const auto attributes = [&](std::size_t i) { return graph.nodes[NodeId(i)].attributes; };
  EXPECT_EQ(attributes(0).get<std::vector<double>>("uniform"), (std::vector<double>{-1, 1}));
  EXPECT_EQ(attributes(0).get<std::int64_t>("seed"), 7);
  EXPECT_EQ(attributes(1).get<std::int64_t>("seed"), 1);  // its position
  EXPECT_EQ(attributes(2).get<Array>("value"), Array::of<std::int32_t>({2}, {3, -4}));
  EXPECT_EQ(attributes(3).get<double>("value"), 2.5);
}

TEST(Model, StatementsKeepTheirLocations) {
  const Graph graph = read("inputs:\n  x: f32[2]\nprogram:\n  - y: x *  exp( x )\noutputs: [y]\n");
  const Node& product = graph.producer(graph.outputs[0].value);
  EXPECT_EQ(to_string(product.location), "models/test.yaml:4:10");
  EXPECT_EQ(to_string(graph.producer(product.inputs[1]).location), "models/test.yaml:4:13");
  EXPECT_EQ(to_string(graph.outputs[0].location), "models/test.yaml:5:11");
}

TEST(Model, ForCarriesWhatExistsOutsideOnly) {
  EXPECT_EQ(program("  - for: i in 3\n"
                    "    do:\n"
                    "      - inner: matmul(x, w)\n"
                    "      - w: w + sum(inner)\n"
                    "outputs: [w]\n"),
            "for {count=3} expected 3.0 {\n"
            "  %i.3 = counter : i32[]\n"
            "  %w.4, %w.5 = carried(%w.1, %w.8) : f32[2, 2]\n"
            "  %inner.6 = matmul(%x.0, %w.4) : f32[4, 2]\n"
            "  %7 = sum(%inner.6) {keepdims=false} : f32[]\n"
            "  %w.8 = add(%w.4, %7) : f32[2, 2]\n"
            "}\n"
            "output \"w\" %w.5\n");
}

TEST(Model, AnIndexMixesPositionsRangesAndNewAxes) {
  const auto indexed = [](const std::string& index, const std::string& type) {
    const std::string text = program("  - y: x" + index + "\noutputs: [y]\n");
    EXPECT_NE(text.find(" : " + type + "\noutput"), std::string::npos) << index << "\n" << text;
    return text;
  };
  EXPECT_EQ(indexed("[n]", "f32[2]"), "%y.3 = take(%x.0, %n.2) {axis=0} : f32[2]\noutput \"y\" %y.3\n");
  EXPECT_EQ(indexed("[:, n]", "f32[4]"), "%y.3 = take(%x.0, %n.2) {axis=1} : f32[4]\noutput \"y\" %y.3\n");
  EXPECT_EQ(indexed("[n, 1]", "f32[]"),
            "%3 = take(%x.0, %n.2) {axis=0} : f32[2]\n%y.4 = slice(%3) {squeeze=[0], starts=[1], steps=[], stops=[2]} : f32[]\noutput "
            "\"y\" %y.4\n");
  EXPECT_EQ(indexed("[..., 0]", "f32[4]"), indexed("[:, 0]", "f32[4]"));
  EXPECT_EQ(indexed("[1, ...]", "f32[2]"), indexed("[1, :]", "f32[2]"));
  EXPECT_EQ(indexed("[:, None]", "f32[4, 1, 2]"), "%y.3 = expand_dims(%x.0) {axis=1} : f32[4, 1, 2]\noutput \"y\" %y.3\n");
  indexed("[None, n, None, 1:]", "f32[1, 1, 1]");
  indexed("[[3, 0, 1]]", "f32[3, 2]");
  indexed("[[3, 0, 1], n]", "f32[3]");
  indexed("[[[3, 0], [1, 2]], :1]", "f32[2, 2, 1]");
}

TEST(Model, AListOfValuesIsTheirStack) {
  const std::string text = program("  - y: \"[[x[0, 0], 0.1], [1, x[n, 1]]]\"\noutputs: [y]\n");
  EXPECT_NE(text.find(" : f32[2, 2]\noutput \"y\""), std::string::npos) << text;
  // A number in the list has the type of the other elements: 0.1 as f64, not f32's 0.1 widened.
  const Graph wide = read("inputs:\n  x: f64[]\nprogram:\n  - y: \"[x, 0.1]\"\noutputs: [y]\n");
  EXPECT_EQ(only(wide, NodeKind::constant).attributes.get<Array>("value"), Array::scalar(0.1));
}

TEST(Model, WhatIndicesCannotDoIsSaidWithWhatOpsThereAre) {
  const auto said = [](const std::string& statement) {
    const Graph graph = parse_model("inputs:\n  x: f32[4, 2]\n  n: i32[]\nprogram:\n  - " + statement + "\n", "t.yaml");
    EXPECT_FALSE(graph.ok()) << statement;
    return graph.ok() ? "" : graph.diagnostics.begin()->message;
  };
  const auto either = [](const char* op, const char* with, const char* without) { return find_op(op) ? with : without; };
  for (const char* statement : {"x[n]: x", "\"x[n]: x\""}) {
    EXPECT_NE(said(statement).find("a part of a value cannot be bound; bind all of it anew: `x: "), std::string::npos) << said(statement);
    EXPECT_NE(
        said(statement).find(either("dynamic_update_slice", "dynamic_update_slice(x, value[None], [n, 0])", "where((arange(n) == n)")),
        std::string::npos);
  }
  program("  - x: where((arange(4) == n)[:, None], w[0], x)\noutputs: [x]\n");
  EXPECT_NE(said("y: x[n:2]").find(either("dynamic_slice", "dynamic_slice()", "take(x, start + arange(length), axis=0)")),
            std::string::npos);
  EXPECT_NE(said("y: x[[0, 1], [1, 0]]").find("one list of positions may stand in an index"), std::string::npos);
}

TEST(Model, AnElifIsAnIfInTheElse) {
  EXPECT_EQ(program("  - if: n > 2\n    then:\n      - w: w + 1\n"
                    "  - elif: n > 1\n    probability: 0.25\n    then:\n      - w: w + 2\n"
                    "  - elif: n > 0\n    then:\n      - w: w + 3\n    else:\n      - w: w + 4\n"
                    "outputs: [w]\n"),
            program("  - if: n > 2\n    then:\n      - w: w + 1\n    else:\n"
                    "      - if: n > 1\n        probability: 0.25\n        then:\n          - w: w + 2\n        else:\n"
                    "          - if: n > 0\n            then:\n              - w: w + 3\n            else:\n              - w: w + 4\n"
                    "outputs: [w]\n"));
}

TEST(Model, WhatBothArmsBindExistsAfterThem) {
  const std::string carried = program("  - y: w\n  - if: n > 0\n    then:\n      - y: w + 1\n    else:\n      - y: w + 2\noutputs: [y]\n");
  EXPECT_EQ(program("  - if: n > 0\n    then:\n      - y: w + 1\n    else:\n      - y: w + 2\noutputs: [y]\n"), carried);
  // A number has the type of the other branch; names of other values stay inside.
  const Graph graph = read(
      "inputs:\n  x: f64[]\n  y: f32[2]\nprogram:\n"
      "  - if: x > 0\n    then:\n      - a: x\n      - t: y\n      - s: sum(t)\n"
      "  - elif: x < -1\n    then:\n      - a: 0.5\n      - t: x\n      - s: 1.0\n"
      "    else:\n      - a: -x\n      - t: x\n      - s: 2.0\n"
      "outputs: [a, s]\n");
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f64[]");
  EXPECT_EQ(to_string(graph.values[graph.outputs[1].value].type), "f32[]");
  program("  - if: n > 0\n    then:\n      - a: 0.5\n      - b: true\n    else:\n      - a: n\n      - b: 1\n");
  EXPECT_FALSE(parse_model("inputs:\n  x: f64[]\n  y: f32[2]\nprogram:\n  - if: x > 0\n    then:\n      - t: y\n    else:\n      - t: x\n"
                           "  - z: t\n",
                           "t.yaml")
                   .ok());
}

TEST(Model, ARangeCountsFromItsStart) {
  const auto loop = [](const std::string& range) {
    return program("  - for: i in " + range + "\n    do:\n      - w: w * i\noutputs: [w]\n");
  };
  EXPECT_EQ(loop("range(5)"), loop("5"));
  EXPECT_EQ(loop("range(0, 5)"), loop("5"));
  EXPECT_NE(loop("range(1, 10, 3)").find("for {count=3}"), std::string::npos) << loop("range(1, 10, 3)");
  EXPECT_NE(loop("range(10, 1, -3)").find("for {count=3}"), std::string::npos) << loop("range(10, 1, -3)");
  EXPECT_NE(loop("range(10, 1)").find("for {count=0}"), std::string::npos) << loop("range(10, 1)");
  EXPECT_NE(loop("range(n, 10, 2)").find("%i."), std::string::npos);  // it has the name of the range's argument
  EXPECT_NE(loop("range(astype(n, i64), 9)").find("i32[]"), std::string::npos);
}

TEST(Model, ACountThatFollowsFromConstantsIsKnown) {
  const auto loop = [](const std::string& count) {
    return program("  - k: " + count + "\n  - for: i in k\n    do:\n      - w: w * 2\noutputs: [w]\n");
  };
  EXPECT_NE(loop("full([], 5, dtype=i32)").find("for {count=5} expected 5.0"), std::string::npos) << loop("full([], 5, dtype=i32)");
  EXPECT_NE(loop("sum([1, 2, 3]) * 2").find("for {count=12}"), std::string::npos) << loop("sum([1, 2, 3]) * 2");
  EXPECT_NE(loop("n + 1").find("assumed"), std::string::npos) << loop("n + 1");
  EXPECT_NE(loop("astype(random_uniform([], 1, 9), i32)").find("assumed"), std::string::npos) << "`--seed` may change it";
}

TEST(Model, GroupsAreNamesOfTheirMembers) {
  const std::string head =
      "inputs:\n  x: f32[4, 2]\nparameters:\n"
      "  net:\n    first: {w: {type: \"f32[2, 2]\", normal: [0, 1]}, b: \"f32[2]\"}\n    last: {w: \"f32[2, 2]\", b: \"f32[2]\"}\n"
      "functions:\n"
      "  dense: {takes: [x, p], do: [{y: \"matmul(x, p.w) + p.b\"}], returns: y}\n"
      "  net: {takes: [x, net], do: [{y: \"dense(dense(x, net.first), net.last)\"}], returns: y}\n"
      "  step: {takes: [p], do: [{p.w: p.w * 0.5}], returns: p}\n"
      "program:\n";
  const Graph graph = read(head +
                           "  - for: i in 3\n    do:\n      - net.first: step(net.first)\n"
                           "  - y: net(x, net)\n  - other: {w: net.last.w, b: net.first.b, net}\n  - z: dense(x, other)\n"
                           "  - z: net(z, other.net)\noutputs: [y, net, z]\n");
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  EXPECT_EQ(names, (std::vector<std::string>{"y", "net.first.w", "net.first.b", "net.last.w", "net.last.b", "z"}));
  int carried = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) carried += graph.nodes[NodeId(i)].kind == NodeKind::carried;
  EXPECT_EQ(carried, 2);  // all names of the group that are bound: w and b
  EXPECT_EQ(graph.nodes[NodeId(1)].attributes.get<std::int64_t>("seed"), 0);
}

TEST(Model, AnExpressionMayGoOverSeveralLines) {
  const std::string one = program("  - y: where(x > 0, x, -x) + 1\noutputs: [y]\n");
  EXPECT_EQ(program("  - y: where(x > 0,\n        x,\n        -x)\n        + 1\noutputs: [y]\n"), one);
  EXPECT_EQ(program("  - y: |\n      where(x > 0, x,\n        -x) + 1\noutputs: [y]\n"), one);
  EXPECT_EQ(program("  - y: >-\n      where(x > 0, x, -x)\n\n        + 1\noutputs: [y]\n"), one);
  EXPECT_EQ(program("  - y: \"where(x > 0, x,\n      -x) + 1\"\noutputs: [y]\n"), one);
  EXPECT_EQ(program("  - y: 'where(x > 0, x,\n      -x) + 1'\noutputs: [y]\n"), one);
  const Graph graph = read("inputs:\n  x: f32[2]\nprogram:\n  - y: x *\n      exp(\n       x)\noutputs: [y]\n");
  const Node& product = graph.producer(graph.outputs[0].value);
  EXPECT_EQ(to_string(graph.producer(product.inputs[1]).location), "models/test.yaml:5:7");
}

TEST(Model, InputsMayHaveValuesAndFilesThatAreNotThere) {
  const Graph graph = read(
      "inputs:\n  x: {type: \"f32[2]\", value: [1, 2]}\n  y: {type: \"f32[2]\", file: nothing.npy}\nprogram:\n  - z: x + y\noutputs: "
      "[z]\n");
  EXPECT_EQ(graph.nodes[NodeId(0)].attributes.get<Array>("value"), Array::of<float>({2}, {1, 2}));
  EXPECT_EQ(graph.nodes[NodeId(1)].attributes.get<std::string>("file"), "models/nothing.npy");
}

TEST(Model, NestedBodiesCarryThroughAllLevels) {
  const Graph graph = read(
      "inputs:\n  x: f32[]\nprogram:\n"
      "  - for: i in 3\n    do:\n"
      "      - t: x * 2\n"
      "      - for: j in 4\n        do:\n"
      "          - if: j > i\n            then:\n              - x: x + t\n              - t: t + 1\n"
      "outputs: [x]\n");
  int carried = 0, merges = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    carried += graph.nodes[NodeId(i)].kind == NodeKind::carried;
    merges += graph.nodes[NodeId(i)].kind == NodeKind::merge;
  }
  EXPECT_EQ(carried, 3);  // x through both loops, t through the inner one
  EXPECT_EQ(merges, 2);
}

TEST(Model, ACounterHidesAndIsNotCarried) {
  const std::string text = program("  - i: n\n  - for: i in 3\n    do:\n      - w: w * i\n  - y: i\noutputs: [y]\n");
  EXPECT_NE(text.find("output \"y\" %n.2"), std::string::npos) << text;
}

TEST(Model, ForTakesRuntimeCountsDimsAndUntil) {
  const std::string body = "    do:\n      - w: w * 2\n    until: w[0, 0] > 100\n";
  const Graph runtime = read("inputs:\n  w: f32[2, 2]\n  n: i32[]\nprogram:\n  - for: i in n + 1\n    expect: 20\n" + body);
  const Node& loop = only(runtime, NodeKind::for_loop);
  EXPECT_EQ(loop.inputs.size(), 1u);
  EXPECT_EQ(loop.expected, 20);
  EXPECT_FALSE(loop.assumed);
  EXPECT_TRUE(runtime.regions[loop.regions[0]].predicate.valid());
  const Graph known = read("dims: {steps: 5}\ninputs:\n  w: f32[2, 2]\nprogram:\n  - for: i in steps\n" + body);
  EXPECT_EQ(only(known, NodeKind::for_loop).attributes.get<std::int64_t>("count"), 5);
}

TEST(Model, WhileTestsBeforeEachTrip) {
  const Graph graph = read("inputs:\n  n: i32[]\nprogram:\n  - while: n > 0\n    expect: 12\n    do:\n      - n: n - 1\noutputs: [n]\n");
  const Node& loop = only(graph, NodeKind::while_loop);
  EXPECT_EQ(loop.expected, 12);
  ASSERT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(graph.op_name(graph.values[graph.regions[loop.regions[0]].predicate].producer), "greater");
  EXPECT_EQ(graph.values[graph.outputs[0].value].producer, graph.values[only(graph, NodeKind::carried).results[1]].producer);
}

TEST(Model, IfMergesAndTakesTheOtherArmsValue) {
  EXPECT_EQ(program("  - y: n\n"
                    "  - if: n > 3\n"
                    "    probability: 0.25\n"
                    "    then:\n      - y: n + 1\n      - z: n\n"
                    "outputs: [y]\n"),
            "%3 = constant {value=i32[] (3)} : i32[]\n"
            "%4 = greater(%n.2, %3) : bool[]\n"
            "if(%4) expected 0.25 {\n"
            "  %5 = constant {value=i32[] (1)} : i32[]\n"
            "  %y.6 = add(%n.2, %5) : i32[]\n"
            "} else {\n"
            "}\n"
            "%y.7 = merge(%y.6, %n.2) : i32[]\n"
            "output \"y\" %y.7\n");
}

TEST(Model, SeveralResultsAreBoundAtOnce) {
  const Graph graph =
      read("inputs:\n  x: f32[8]\nprogram:\n  - \"best, where_\": top_k(x, 3)\n  - a, b: top_k(x, 2)\noutputs: [best, where_, b]\n");
  EXPECT_EQ(to_string(graph.values[graph.outputs[1].value].type), "i32[3]");
  EXPECT_EQ(graph.values[graph.outputs[2].value].result, 1u);
}

TEST(Model, SlicesFollowPython) {
  const auto shape = [](const std::string& index) {
    const Graph graph = read("inputs:\n  x: f32[10, 6, 4]\nprogram:\n  - 'y': 'x" + index + "'\noutputs: [y]\n");
    return to_string(graph.values[graph.outputs[0].value].type.shape);
  };
  EXPECT_EQ(shape("[0:10, :]"), "[10, 6, 4]");
  EXPECT_EQ(shape("[2]"), "[6, 4]");
  EXPECT_EQ(shape("[-1, ::2]"), "[3, 4]");
  EXPECT_EQ(shape("[1:-1, 0, 1:]"), "[8, 3]");
  EXPECT_EQ(shape("[::-1, 4:1:-2]"), "[10, 2, 4]");
  EXPECT_EQ(shape("[5:100]"), "[5, 6, 4]");
}

TEST(Model, ListsOfNumbersAreConstants) {
  const std::string text = program("  - y: x + [1, 2.5]\n  - z: \"[[1, 2], [3, 4]]\"\noutputs: [y, z]\n");
  EXPECT_NE(text.find("{value=f32[2] (1.0, 2.5)}"), std::string::npos) << text;
  EXPECT_NE(text.find("{value=i32[2, 2] (1, 2, 3, 4)}"), std::string::npos) << text;
}

TEST(Model, FunctionsAreInlinedWithTheirChain) {
  const Graph graph = read(
      "functions:\n"
      "  dense:\n    takes: [x, w]\n    do:\n      - y: relu(matmul(x, w))\n    returns: y\n"
      "  twice:\n    takes: [x, w]\n    do:\n      - x: dense(x, w=w)\n      - x: dense(x, w)\n    returns: [x, w]\n"
      "inputs:\n  a: f32[4, 2]\n  w: f32[2, 2]\n"
      "program:\n  - r, v: twice(a, w)\noutputs: [r, v]\n");
  const Node& last = graph.producer(graph.outputs[0].value);
  EXPECT_EQ(graph.op_name(graph.values[graph.outputs[0].value].producer), "relu");
  ASSERT_TRUE(last.location.via && last.location.via->location.via);
  EXPECT_EQ(last.location.via->label, "dense");
  EXPECT_EQ(to_string(last.location.via->location), "models/test.yaml:11:12");
  EXPECT_EQ(last.location.via->location.via->label, "twice");
  EXPECT_EQ(to_string(last.location.via->location.via->location), "models/test.yaml:17:11");
  EXPECT_EQ(graph.outputs[1].value, graph.nodes[NodeId(1)].results[0]);
}

TEST(Model, HostFunctionsAreDeclaredUnbound) {
  const Graph graph = read(
      "dims: {b: 4}\nhost_functions:\n"
      "  step: {library: ./lib/libsim.so, takes: [\"f32[b]\", \"f32[]\"], returns: [\"f32[b]\", \"i32[]\"], seconds: 0.002, pure: true, "
      "deadline: 10}\n"
      "inputs:\n  x: f32[b]\nprogram:\n  - \"y, k\": step(x, 1)\noutputs: [y, k]\n");
  const Node& call = graph.producer(graph.outputs[0].value);
  const auto function = call.attributes.get<std::shared_ptr<const HostFunction>>("function");
  EXPECT_EQ(function->library, "models/lib/libsim.so");
  EXPECT_EQ(function->symbol, "step");
  EXPECT_EQ(function->seconds, 0.002);
  EXPECT_EQ(function->deadline, 10);
  EXPECT_TRUE(function->pure);
  EXPECT_FALSE(function->call);
  EXPECT_EQ(to_string(graph.values[call.inputs[1]].type), "f32[]");
}

TEST(Model, PlaceAndAllowHoldForTheExpression) {
  const Graph graph = read(
      "inputs:\n  x: f32[2]\nprogram:\n"
      "  - y: exp(x) + to_accelerator(x)\n    place: host\n    allow: {round-trip: it is small}\n"
      "  - call: print(\"y\", exp(y))\n    place: accelerator\n"
      "  - z: exp(y)\noutputs: [z]\n");
  std::vector<Side> pins;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) pins.push_back(graph.nodes[NodeId(i)].pin.side);
  EXPECT_EQ(pins, (std::vector<Side>{Side::host, Side::none, Side::host, Side::accelerator, Side::accelerator, Side::none}));
  EXPECT_EQ(graph.nodes[NodeId(1)].allowed, (std::vector<Allowance>{{DiagnosticKind::round_trip, "it is small"}}));
  EXPECT_TRUE(graph.nodes[NodeId(6)].allowed.empty());
}

TEST(Model, LimitsHaveUnits) {
  const Limits limits = read("program:\n  - y: 1\nlimits: {round_trips: 0, transfers: 4, bytes_per_run: 64KiB}\n").limits;
  EXPECT_EQ(limits.round_trips, 0);
  EXPECT_EQ(limits.transfers, 4);
  EXPECT_EQ(limits.bytes_per_run, 65536);
  EXPECT_FALSE(limits.prediction_error);
}

TEST(Model, ThePredictionMayBeOffByAPercentage) {
  const Limits limits = read("program:\n  - y: 1\nlimits:\n  transfers: 4\n  prediction_error: 20%\n").limits;
  EXPECT_EQ(limits.transfers, 4);
  EXPECT_EQ(limits.prediction_error, 0.2);
  EXPECT_EQ(limits.prediction_error_location.line, 5);
  for (const std::string text : {"20", "0.2", "0%", "-5%", "%", "x%", "'20'", "[20%]", "1e300%", "20 percent"}) {
    const Graph graph = parse_model("cleave: 1\nprogram:\n  - y: 1\noutputs: [y]\nlimits:\n  prediction_error: " + text + "\n", "m.yaml");
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_EQ(graph.diagnostics.size(), 1U) << to_text(graph.diagnostics);
    EXPECT_EQ(graph.diagnostics.begin()->location.line, 6) << text;
  }
  const Graph graph = parse_model("cleave: 1\nprogram:\n  - y: 1\noutputs: [y]\nlimits: {prediction_error: 20}\n", "m.yaml");
  EXPECT_EQ(graph.diagnostics.begin()->message, "there is no percent sign; `prediction_error` is a percentage above 0, as in `20%`");
}

TEST(Model, TheSmallestI64IsWrittenAsAnyNumber) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Graph graph = read(
      "inputs:\n  x: i64[2]\nparameters:\n  p: {type: 'i64[2]', value: -9223372036854775808}\n"
      "  q: {type: 'i64[2]', value: [-9223372036854775808, 9223372036854775807]}\n"
      "program:\n  - y: x - -9223372036854775808\n");
  std::vector<Array> arrays;
  std::vector<std::int64_t> numbers;
  for (const Node& node : graph.nodes) {
    if (const auto* array = node.attributes.get_if<Array>("value")) arrays.push_back(*array);
    if (const auto* number = node.attributes.get_if<std::int64_t>("value")) numbers.push_back(*number);
  }
  EXPECT_EQ(numbers, std::vector<std::int64_t>{kLeast});
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0], Array::of<std::int64_t>({2}, {kLeast, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(arrays[1], Array::scalar(kLeast));
  for (const std::string number : {"9223372036854775808", "-9223372036854775809", "-9223372036854775808 ** 2", "9223372036854775808 - 1"})
    EXPECT_FALSE(parse_model("cleave: 1\nprogram:\n  - y: " + number + "\n", "m.yaml").ok()) << number;
}

TEST(Model, OutputsMayBeLeftOutAndTextsHoldAnything) {
  const Graph graph = read("inputs:\n  x: f32[2]\nprogram:\n  - 'print(\"a: b # c\", x)'\n  - write_npy(x, \"x.npy\")\n");
  EXPECT_TRUE(graph.outputs.empty());
  EXPECT_EQ(graph.nodes[NodeId(1)].attributes.get<std::string>("label"), "a: b # c");
}

TEST(Model, SaysItsInputsAsTheyAreWritten) {
  const test::TemporaryFolder folder;
  const std::string inputs = "dims: {n: 4}\ninputs: {x: 'f32[n, 2 * n]', y: {type: 'i32[]', value: 3}, g: {w: {type: 'f32[n]'}}}\n";
  EXPECT_TRUE(declared_inputs(folder.write("broken.yaml", inputs + "program: [oops\n")).empty());
  std::string text;
  for (const DeclaredInput& input : declared_inputs(folder.write("model.yaml", inputs + "program: oops\n")))
    text += input.name + ": " + input.type + "; ";
  EXPECT_EQ(text, "x: f32[n, 2 * n]; y: i32[]; g.w: f32[n]; ");
  EXPECT_TRUE(declared_inputs(folder.path("nowhere.yaml")).empty());
}

TEST(Model, EqualTextGivesEqualGraphs) {
  const std::string text = "inputs:\n  x: f32[2]\nprogram:\n  - for: i in 3\n    do:\n      - x: x * i\noutputs: [x]\n";
  EXPECT_TRUE(same_program(read(text), read(text)));
  EXPECT_EQ(print(read(text)), print(read(text)));
}

}  // namespace
}  // namespace cleave::testing
