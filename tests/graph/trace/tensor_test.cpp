// Operators on Tensors: the operations that they record, each with its source line.
#include "graph/trace/tensor.h"

#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/trace/trace.h"

namespace cleave {
namespace {

/// The names of the nodes in program order, the constants left out.
std::string ops_of(const Graph& graph) {
  std::string names;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId node(i);
    if (graph.nodes[node].kind != NodeKind::operation) continue;
    names += (names.empty() ? "" : " ") + std::string(graph.op_name(node));
  }
  return names;
}

const Node& node_of(const Graph& graph, std::string_view op) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.op_name(NodeId(i)) == op) return graph.nodes[NodeId(i)];
  ADD_FAILURE() << "no " << op;
  return graph.nodes[NodeId(std::size_t{0})];
}

template <class F>
Graph binary(F&& body) {
  return trace("t", {{"a", "f32[2, 3]"}, {"b", "f32[3]"}}, std::forward<F>(body));
}

TEST(Tensor, EveryOperatorRecordsItsOp) {
  auto recorded = [](auto body) { return ops_of(binary(body)); };
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a + b; }), "add");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a - b; }), "subtract");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a * b; }), "multiply");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a / b; }), "divide");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a % b; }), "remainder");
  EXPECT_EQ(recorded([](Tensor a, Tensor) { return -a; }), "negative");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a == b; }), "equal");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a != b; }), "not_equal");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a < b; }), "less");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a <= b; }), "less_equal");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a > b; }), "greater");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a >= b; }), "greater_equal");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a > 0 && b > 0; }), "greater greater logical_and");
  EXPECT_EQ(recorded([](Tensor a, Tensor b) { return a > 0 || b > 0; }), "greater greater logical_or");
  EXPECT_EQ(recorded([](Tensor a, Tensor) { return !(a > 0); }), "greater logical_not");
}

TEST(Tensor, NumbersStandOnEitherSideAndAdapt) {
  const Graph graph = binary([](Tensor a, Tensor) { return std::tuple{1 + a, a * 2, 0.5f - a, a == 3, 4 < a}; });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(ops_of(graph), "add multiply subtract equal less");
  for (const Output& output : graph.outputs) EXPECT_EQ(graph.values[output.value].type.shape, (Shape{2, 3}));
  EXPECT_EQ(graph.values[graph.outputs[0].value].type.dtype, DType::f32);
  EXPECT_EQ(graph.values[graph.outputs[3].value].type.dtype, DType::boolean);
}

TEST(Tensor, CompoundAssignmentBindsTheHandleAnew) {
  const Graph graph = binary([](Tensor a, Tensor b) {
    const Tensor before = a;
    a += b;
    a -= 1;
    a *= b;
    a /= 2;
    a %= b;
    return std::tuple(before, a);
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(ops_of(graph), "add subtract multiply divide remainder");
  EXPECT_EQ(graph.producer(graph.outputs[0].value).kind, NodeKind::input);
  EXPECT_EQ(graph.producer(graph.outputs[1].value).op->name, "remainder");
}

TEST(Tensor, KnowsItsTypeWhileTracing) {
  binary([](Tensor a, Tensor b) {
    EXPECT_EQ(to_string((a + b).type()), "f32[2, 3]");
    EXPECT_EQ(a.rank(), 2);
    EXPECT_EQ(a.extent(0), 2);
    EXPECT_EQ(a.extent(-1), 3);
    EXPECT_EQ(a.extent(5), 1) << "no such axis";
    EXPECT_EQ((a > b).dtype(), DType::boolean);
    EXPECT_EQ(Tensor(3).dtype(), DType::i32);
    EXPECT_EQ(Tensor().shape(), Shape{});
    return a;
  });
}

TEST(Tensor, SlicesByRangesAndIndices) {
  const Graph graph = trace("t", {{"x", "f32[10, 8, 6]"}, {"i", "i32[]"}}, [](Tensor x, Tensor i) {
    return std::tuple(x.slice({{2, 5}}), x.slice({all_of_axis, 3}), x.slice({{}, {{}, {}, 2}, -1}), x.slice({{{}, {}, -1}}), x[4], x[i]);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  std::vector<std::string> types;
  for (const Output& output : graph.outputs) types.push_back(to_string(graph.values[output.value].type));
  EXPECT_EQ(types, (std::vector<std::string>{"f32[3, 8, 6]", "f32[10, 6]", "f32[10, 4]", "f32[10, 8, 6]", "f32[8, 6]", "f32[8, 6]"}));
}

TEST(TensorLocation, OfEachOperatorIsItsLine) {
  const int line = __LINE__ + 2;
  const Graph graph = binary([](Tensor a, Tensor b) {
    Tensor sum = a + b;
    Tensor product = sum * 2;
    Tensor opposite = -product;
    opposite -= b;
    return maximum(opposite, b)[0];
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(node_of(graph, "add").location.line, line);
  EXPECT_EQ(node_of(graph, "multiply").location.line, line + 1);
  EXPECT_EQ(node_of(graph, "negative").location.line, line + 2);
  EXPECT_EQ(node_of(graph, "subtract").location.line, line + 3);
  EXPECT_EQ(node_of(graph, "maximum").location.line, line + 4);
  EXPECT_EQ(node_of(graph, "slice").location.line, line + 4);
  EXPECT_TRUE(node_of(graph, "add").location.file_name().ends_with("tensor_test.cpp"));
}

TEST(TensorLocation, OfAFunctionPointsAtItsName) {
  const Graph graph = binary([](Tensor a, Tensor) {
    Tensor total = sum(a, {.axis = 0});
    return total;
  });
  EXPECT_EQ(node_of(graph, "sum").location.column, 20);
}

// --- mistakes --------------------------------------------------------------------------------------------------------------------------

TEST(TensorError, NamesBothShapesAtTheLineAndGoesOn) {
  const int line = __LINE__ + 2;
  const Graph graph = trace("t", {{"a", "f32[2, 3]"}, {"b", "f32[4]"}}, [](Tensor a, Tensor b) {
    Tensor wrong = a + b;
    Tensor silent = wrong * 2 + wrong[0];
    return std::tuple(silent, matmul(a, a));
  });
  ASSERT_EQ(graph.diagnostics.size(), 2u);
  const Diagnostic& first = *graph.diagnostics.begin();
  EXPECT_EQ(first.kind, DiagnosticKind::shape);
  EXPECT_EQ(first.location.line, line);
  EXPECT_NE(first.message.find("f32[2, 3]"), std::string::npos) << first.message;
  EXPECT_NE(first.message.find("f32[4]"), std::string::npos) << first.message;
  EXPECT_EQ(std::next(graph.diagnostics.begin())->location.line, line + 2);
}

TEST(TensorError, ATensorWithoutValueIsReportedWhereItIsUsed) {
  const int line = __LINE__ + 3;
  const Graph graph = binary([](Tensor a, Tensor) {
    Tensor forgotten;
    return a + forgotten;
  });
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics.begin()->location.line, line);
}

TEST(TensorError, ATensorOfAnotherTraceIsReportedWhereItIsUsed) {
  Tensor leaked;
  const Graph first = trace("first", {{"a", "f32[2]"}}, [&](Tensor a) { return leaked = a + 1; });
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(leaked.type(), TensorType()) << "its trace is over";
  const Graph second = trace("second", {{"a", "f32[2]"}}, [&](Tensor a) { return a + leaked; });
  ASSERT_EQ(second.diagnostics.size(), 1u);
  EXPECT_EQ(second.diagnostics.begin()->location.line, __LINE__ - 2);
  EXPECT_NE(second.diagnostics.begin()->message.find("outside of the trace"), std::string::npos);

  const Graph outer = trace("outer", {{"a", "f32[2]"}}, [&](Tensor a) {
    const Graph inner = trace("inner", [&] { return a * 2; });
    EXPECT_EQ(inner.diagnostics.size(), 1u);
    return a + 1;
  });
  EXPECT_TRUE(outer.ok());
}

TEST(TensorError, OutsideOfAnyTraceItGoesToStandardError) {
  testing::internal::CaptureStderr();
  const int line = __LINE__ + 1;
  Tensor stray = zeros({3}) + 1;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("tensor_test.cpp:" + std::to_string(line)), std::string::npos) << said;
  EXPECT_NE(said.find("outside of a trace"), std::string::npos) << said;
  const Graph graph = trace("t", {{"a", "f32[3]"}}, [&](Tensor a) { return a + stray; });
  EXPECT_EQ(graph.diagnostics.size(), 1u);
}

TEST(TensorError, AValueOfALoopDoesNotLeaveIt) {
  const Graph graph = trace("t", {{"a", "f32[3]"}}, [](Tensor a) {
    Tensor leaked;
    Tensor after = for_loop(3, a, [&](Tensor, Tensor x) { return leaked = x * 2; });
    return after + leaked;
  });
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics.begin()->location.line, __LINE__ - 3);
}

}  // namespace
}  // namespace cleave
