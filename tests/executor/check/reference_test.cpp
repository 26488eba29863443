// The oracle itself: control flow on programs whose results are known by hand, bindings, observations.
#include "executor/check/reference.h"

#include <gtest/gtest.h>

#include "executor/arguments/bindings.h"
#include "graph/array/npy.h"
#include "graph/trace/tracer.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

SourceLocation line(int number) {
  return {std::make_shared<const std::string>("model.yaml"), number, 1, nullptr};
}
Literal integer(std::int64_t value) {
  return {Literal::Type::integer, value, 0};
}

class Reference : public ::testing::Test {
 protected:
  Tracer tracer{"test"};

  Operand call(const char* op, std::vector<Operand> inputs, Attributes attributes = {}) {
    return tracer.call(*find_op(op), inputs, std::move(attributes), line(9));
  }
  Operand scalar(const char* name) { return tracer.input(name, {DType::i32, {}}, {}, line(1)); }

  /// The outputs, all i32 scalars, with `values` bound to the inputs.
  std::vector<std::int32_t> run(const std::map<std::string, std::int32_t>& values, Profile* observed = nullptr) {
    graph = tracer.finish();
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.diagnostics.begin()->message);
    RunOptions options;
    options.observe = observed != nullptr;
    for (const auto& [name, value] : values) options.inputs[name] = Array::scalar(value);
    const Result<RunResult> result = run_reference(graph, options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    if (observed) *observed = result->observed;
    std::vector<std::int32_t> outputs;
    for (const auto& [name, array] : result->outputs) outputs.push_back(*array.data<std::int32_t>());
    return outputs;
  }
  Graph graph;
};

TEST_F(Reference, ForCountsFromZeroAndKnowsZeroTrips) {
  const Operand n = scalar("n"), x = scalar("x");
  const Tracer::State state{"x", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(n, std::span(&state, 1), line(2));
  const Tracer::State next{"x", call("add", {call("multiply", {loop.inside[0], integer(10)}), loop.counter}), line(3)};
  tracer.output("x", tracer.end_for(std::span(&next, 1))[0], line(4));
  graph = tracer.finish();
  for (const auto& [count, expected] : std::map<int, int>{{0, 7}, {-3, 7}, {1, 70}, {3, 7012}}) {
    RunOptions options;
    options.inputs = {{"n", Array::scalar(count)}, {"x", Array::scalar(7)}};
    const auto result = run_reference(graph, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result->outputs[0].second.data<std::int32_t>(), expected) << count;
  }
}

TEST_F(Reference, CarriedValuesSwapAllAtOnce) {
  const Operand a = scalar("a"), b = scalar("b");
  const std::vector<Tracer::State> states = {{"a", a, line(2)}, {"b", b, line(2)}};
  Tracer::Loop loop = tracer.begin_for(integer(3), states, line(2));
  const std::vector<Tracer::State> next = {{"a", loop.inside[1], line(3)}, {"b", call("add", {loop.inside[0], loop.inside[1]}), line(3)}};
  const std::vector<Operand> after = tracer.end_for(next);
  tracer.output("a", after[0], line(4));
  tracer.output("b", after[1], line(4));
  EXPECT_EQ(run({{"a", 0}, {"b", 1}}), (std::vector<std::int32_t>{2, 3}));  // Fibonacci
}

TEST_F(Reference, UntilEndsAfterTheTripThatMeetsIt) {
  const Operand x = scalar("x");
  const Tracer::State state{"x", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(integer(100), std::span(&state, 1), line(2));
  const Operand doubled = call("add", {loop.inside[0], loop.inside[0]});
  const Tracer::State next{"x", doubled, line(3)};
  const Operand enough = call("greater", {doubled, integer(20)});
  tracer.output("x", tracer.end_for(std::span(&next, 1), enough)[0], line(4));
  Profile observed;
  EXPECT_EQ(run({{"x", 3}}, &observed), (std::vector<std::int32_t>{24}));
  EXPECT_EQ(observed.expected.at("for"), 3);
}

TEST_F(Reference, WhileTestsBeforeEachTrip) {
  const Operand x = scalar("x");
  const Tracer::State state{"x", x, line(2)};
  Tracer::Loop loop = tracer.begin_while(std::span(&state, 1), line(2));
  tracer.while_condition(call("less", {loop.inside[0], integer(50)}), line(2));
  const Tracer::State next{"x", call("multiply", {loop.inside[0], integer(3)}), line(3)};
  tracer.output("x", tracer.end_while(std::span(&next, 1))[0], line(4));
  graph = tracer.finish();
  for (const auto& [from, to] : std::map<int, int>{{2, 54}, {50, 50}, {49, 147}}) {
    RunOptions options;
    options.observe = true;
    options.inputs = {{"x", Array::scalar(from)}};
    const auto result = run_reference(graph, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result->outputs[0].second.data<std::int32_t>(), to);
    EXPECT_EQ(result->observed.expected.at("while"), from == 2 ? 3 : from == 49 ? 1 : 0);
  }
}

TEST_F(Reference, ABranchMergesTheArmThatRan) {
  const Operand x = scalar("x");
  tracer.begin_branch(call("greater", {x, integer(0)}), line(2));
  const Tracer::State yes{"y", call("add", {x, integer(1)}), line(3)};
  tracer.begin_otherwise();
  const Tracer::State no{"y", call("subtract", {x, integer(1)}), line(4)};
  tracer.output("y", tracer.end_branch(std::span(&yes, 1), std::span(&no, 1))[0], line(5));
  graph = tracer.finish();
  for (const int from : {5, -5}) {
    RunOptions options;
    options.inputs = {{"x", Array::scalar(from)}};
    const auto result = run_reference(graph, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result->outputs[0].second.data<std::int32_t>(), from > 0 ? 6 : -6);
  }
}

TEST_F(Reference, DeepNestingNeedsNoDeepStack) {
  constexpr int kDepth = 20000;
  const Operand x = scalar("x");
  Operand inside = x;
  for (int i = 0; i < kDepth; ++i) {
    const Tracer::State state{"x", inside, line(2)};
    inside = tracer.begin_for(integer(1), std::span(&state, 1), line(2)).inside[0];
  }
  inside = call("add", {inside, integer(1)});
  for (int i = 0; i < kDepth; ++i) {
    const Tracer::State next{"x", inside, line(3)};
    inside = tracer.end_for(std::span(&next, 1))[0];
  }
  tracer.output("x", inside, line(4));
  EXPECT_EQ(run({{"x", 41}}), (std::vector<std::int32_t>{42}));
}

TEST_F(Reference, ACountBeyondTheCounterIsAnError) {
  const Operand n = tracer.input("n", {DType::i64, {}}, {}, line(1));
  tracer.begin_for(n, {}, line(2));
  tracer.end_for({});
  graph = tracer.finish();
  RunOptions options;
  options.inputs = {{"n", Array::scalar<std::int64_t>(std::int64_t{1} << 40)}};
  const auto result = run_reference(graph, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().location.line, 2);
}

TEST(Bindings, TakeWhatIsGivenElseWhatTheModelSays) {
  test::TemporaryFolder folder;
  const TensorType type{DType::f32, {2, 3}};
  ASSERT_TRUE(write_npy(folder.path("x.npy"), Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})).ok());
  Tracer tracer("bindings");
  const std::vector<Operand> leaves = {
      tracer.input("file", type, {{"file", folder.path("x.npy")}}, line(1)),
      tracer.parameter("number", type, {{"value", 2.5}}, line(2)),
      tracer.parameter("array", type, {{"value", Array::of<float>({2, 3}, {6, 5, 4, 3, 2, 1})}}, line(3)),
      tracer.parameter("uniform", type, {{"uniform", std::vector<double>{-1, 1}}, {"seed", std::int64_t{1}}}, line(4)),
      tracer.parameter("normal", {DType::bf16, {1000}}, {{"normal", std::vector<double>{3, 0.5}}, {"seed", std::int64_t{2}}}, line(5)),
      tracer.parameter("mask", {DType::boolean, {2}}, {{"value", true}}, line(6)),
      tracer.input("absent", type, {{"file", folder.path("y.npy")}}, line(7)),
      tracer.input("bare", type, {}, line(8)),
  };
  for (std::size_t i = 0; i < leaves.size(); ++i) tracer.output("o" + std::to_string(i), leaves[i], line(9));
  const Graph graph = tracer.finish();
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const auto bound = [&](std::size_t leaf, const RunOptions& options = {}) {
    return bind_leaf(graph, graph.values[graph.outputs[leaf].value].producer, options);
  };
  EXPECT_EQ(bound(0)->at(5), 6);
  EXPECT_EQ(bound(1)->at(3), 2.5);
  EXPECT_EQ(bound(2)->at(0), 6);
  EXPECT_TRUE(*bound(3) == *bound(3));
  EXPECT_NE(bound(3)->at(0), bound(3)->at(1));
  double mean = 0;
  for (int i = 0; i < 6; ++i) EXPECT_LE(std::abs(bound(3)->at(i)), 1);
  for (int i = 0; i < 1000; ++i) mean += bound(4)->at(i) / 1000;
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_EQ(bound(5)->at(1), 1);
  ASSERT_FALSE(bound(6).ok());
  EXPECT_EQ(bound(6).error().location.line, 7);
  EXPECT_NE(bound(6).error().message.find("y.npy"), std::string::npos);
  ASSERT_FALSE(bound(7).ok());
  EXPECT_NE(bound(7).error().message.find("`bare`"), std::string::npos);
  RunOptions given;
  given.inputs = {{"file", Array::of<float>({2, 3}, {0, 0, 0, 0, 0, 9})}, {"bare", Array::of<float>({3}, {1, 2, 3})}};
  EXPECT_EQ(bound(0, given)->at(5), 9);
  ASSERT_FALSE(bound(7, given).ok());
  EXPECT_NE(bound(7, given).error().message.find("f32[3]"), std::string::npos);
  EXPECT_NE(bound(7, given).error().message.find("f32[2, 3]"), std::string::npos);
}

}  // namespace
}  // namespace cleave::testing
