// einsum: its results, its lowering, and the errors of wrong equations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "graph/ops/einsum.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array counted(Shape shape) {
  Array array({DType::f32, std::move(shape)});
  for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i);
  return array;
}

Graph traced_einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  Tracer tracer("one");
  std::vector<Operand> operands;
  for (const Shape& shape : shapes) operands.push_back(tracer.input("x" + std::to_string(operands.size()), {DType::f32, shape}, {}, {}));
  const SourceLocation here = SourceLocation::from(Here::now());
  tracer.output("y", tracer.call(*find_function("einsum"), operands, {{"equation", equation}}, here), here);
  return tracer.finish();
}

Array computed(const std::string& equation, const std::vector<Shape>& shapes) {
  const Graph graph = traced_einsum(equation, shapes);
  EXPECT_TRUE(graph.ok()) << equation;
  RunOptions options;
  for (std::size_t i = 0; i < shapes.size(); ++i) options.inputs.emplace("x" + std::to_string(i), counted(shapes[i]));
  const Result<RunResult> result = run_reference(graph, options);
  EXPECT_TRUE(result.ok()) << equation;
  return result->outputs[0].second;
}

std::vector<std::string_view> ops_of(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes)
    if (node.op) names.push_back(node.op->name);
  return names;
}

TEST(Einsum, ComputesWhatNumPyDoes) {
  EXPECT_THAT(elements(computed("ij,jk->ki", {{2, 3}, {3, 2}})), ElementsAre(10, 28, 13, 40));
  EXPECT_THAT(elements(computed("ij, jk", {{2, 3}, {3, 2}})), ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(elements(computed("ii", {{3, 3}})), ElementsAre(12));
  EXPECT_THAT(elements(computed("ii->i", {{3, 3}})), ElementsAre(0, 4, 8));
  EXPECT_THAT(elements(computed("ba", {{2, 3}})), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(elements(computed("i,j->ij", {{2}, {3}})), ElementsAre(0, 0, 0, 0, 1, 2));
  EXPECT_THAT(elements(computed("i...->...", {{2, 3}})), ElementsAre(3, 5, 7));
  EXPECT_THAT(elements(computed("i,ij,j->", {{2}, {2, 3}, {3}})), ElementsAre(14));
  EXPECT_THAT(elements(computed("ij,jk->ik", {{2, 1}, {3, 1}})), ElementsAre(0, 3)) << "an extent of 1 fits each other one";
  EXPECT_THAT(elements(computed("...i,i", {{2, 1, 2}, {2}})), ElementsAre(1, 3));
}

TEST(Einsum, IsAMatrixProductWhereItCanBe) {
  EXPECT_THAT(ops_of(traced_einsum("ij,jk->ik", {{2, 3}, {3, 2}})), ElementsAre("matmul"));
  EXPECT_THAT(ops_of(traced_einsum("bij,bjk->bik", {{5, 2, 3}, {5, 3, 2}})), ElementsAre("matmul"));
  EXPECT_THAT(ops_of(traced_einsum("ij,j->i", {{2, 3}, {3}})), ElementsAre("reshape", "matmul", "reshape"));
  EXPECT_THAT(ops_of(traced_einsum("i,i->i", {{3}, {3}})), ElementsAre("multiply"));
}

TEST(Einsum, JoinsTheCheapestPairFirst) {
  const Graph graph = traced_einsum("ij,jk,kl->il", {{100, 2}, {2, 100}, {100, 3}});
  std::vector<Shape> products;
  for (const Node& node : graph.nodes)
    if (node.op && node.op->name == "matmul") products.push_back(graph.values[node.results[0]].type.shape);
  EXPECT_THAT(products, ElementsAre(Shape{2, 3}, Shape{100, 3}));
}

TEST(Einsum, RefusesWrongEquations) {
  const auto refused = [](const std::string& equation, const std::vector<Shape>& shapes) -> std::string {
    const Graph graph = traced_einsum(equation, shapes);
    return graph.ok() ? "" : graph.diagnostics.begin()->message;
  };
  EXPECT_THAT(refused("ij,jk->ik", {{2, 3}}), HasSubstr("`ij,jk->ik` is of 2 operands, and 1 is given"));
  EXPECT_THAT(refused("ij", {{2, 3, 4}}), HasSubstr("operand 1, f32[2, 3, 4], has 3 axes, and `ij` names 2"));
  EXPECT_THAT(refused("ij...", {{2}}), HasSubstr("has one axis, and `ij...` names 2 or more"));
  EXPECT_THAT(refused("ij,jk->ik", {{2, 3}, {4, 5}}), HasSubstr("`j` is 3 in one operand and 4 in operand 2"));
  EXPECT_THAT(refused("ii", {{2, 3}}), HasSubstr("`i` is 2 and 3 in operand 1"));
  EXPECT_THAT(refused("ij->ii", {{2, 3}}), HasSubstr("`i` stands twice in the result"));
  EXPECT_THAT(refused("ij->ik", {{2, 3}}), HasSubstr("`k` of the result stands in no operand"));
  EXPECT_THAT(refused("...i->i", {{2, 3}}), HasSubstr("lacks the `...`"));
  EXPECT_THAT(refused("i1->i", {{2, 3}}), HasSubstr("not made of letters"));
  EXPECT_THAT(refused("i->j->k", {{2}}), HasSubstr("not made of letters"));
  EXPECT_THAT(refused("......", {{2}}), HasSubstr("not made of letters"));
}

TEST(Einsum, IsAFunctionOfTheTrace) {
  const Graph graph = trace("t", {{"a", "f32[2, 3]"}, {"b", "f64[3]"}}, [](Tensor a, Tensor b) { return einsum("ij,j", {a, b}); });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f64[2]");
}

}  // namespace
}  // namespace cleave::testing
