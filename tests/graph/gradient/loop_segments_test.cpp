// Loops whose gradients are computed in segments: which ones are found, that results keep their bits, and how large stacks are.
#include "graph/gradient/loop_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "graph/gradient/differentiate.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/passes/simplify.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/host_call.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using Trip = std::function<Tensor(Tensor i, Tensor h)>;

/// The gradient of a loop by its initial value, as it is planned.
Graph gradient_of_loop(std::int64_t trips, const Trip& body) {
  const Graph graph = trace("m", {{"x", "f64[6]"}, {"rows", "f64[40, 6]"}}, [&](Tensor x, Tensor rows) {
    const Tensor h = for_loop(trips, x, [&](Tensor i, Tensor inside) { return body(i, inside) + 0.01 * rows[i]; });
    const Tensor loss = sum(square(h));
    const auto [by_x, by_rows] = gradient(loss, {x, rows});
    return std::tuple(loss, by_x, by_rows);
  });
  Graph planned = simplify(differentiate(graph));
  EXPECT_THAT(verify(planned), IsEmpty());
  return planned;
}

std::vector<Array> results_of(const Graph& graph) {
  RunOptions options;
  options.inputs.emplace("x", Array::of<double>({6}, {-1, 0.5, 2, 0.1, -0.3, 1}));
  Array rows({DType::f64, {40, 6}});
  for (std::int64_t i = 0; i < rows.size(); ++i) rows.mutable_data<double>()[i] = std::sin(static_cast<double>(i));
  options.inputs.emplace("rows", rows);
  Result<RunResult> result = runtime::run_reference(graph, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  std::vector<Array> arrays;
  if (result.ok())
    for (auto& [name, array] : result->outputs) arrays.push_back(array);
  return arrays;
}

/// The largest number of elements of a value that a loop carries.
std::int64_t largest_carried(const Graph& graph) {
  std::int64_t most = 0;
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::carried) most = std::max(most, graph.values[node.results[0]].type.elements());
  return most;
}

void expect_equal_bits(const std::vector<Array>& one, const std::vector<Array>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i] == other[i]) << "result " << i;
}

Tensor step(const Tensor& i, const Tensor& h) {
  return tanh(sin(h) * exp(-h) + 0.1 * astype(i, DType::f64));
}

TEST(LoopSegments, KeepBitsForEveryLengthOfASegment) {
  for (const std::int64_t trips : {2, 7, 12, 40}) {
    const Graph graph = gradient_of_loop(trips, step);
    const std::vector<StackedLoop> loops = find_stacked_loops(graph);
    ASSERT_THAT(loops, SizeIs(1));
    EXPECT_EQ(loops[0].trips, trips);
    EXPECT_THAT(loops[0].states, SizeIs(1));
    EXPECT_GE(loops[0].stacks.size(), 2u);
    const std::vector<Array> expected = results_of(graph);
    for (std::int64_t every = 1; every <= trips; every += kSanitized ? 5 : 1) {
      SCOPED_TRACE(std::to_string(trips) + " trips, " + std::to_string(every) + " in a segment");
      const Graph divided = divide_loop(graph, loops[0], every);
      EXPECT_THAT(verify(divided), IsEmpty()) << print(divided);
      expect_equal_bits(results_of(divided), expected);
    }
  }
}

TEST(LoopSegments, HoldTheStatesAndOneSegment) {
  const Graph graph = gradient_of_loop(36, [](Tensor, Tensor h) { return tanh(sin(h) * exp(-h)); });
  const std::vector<StackedLoop> loops = find_stacked_loops(graph);
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(largest_carried(graph), 40 * 6) << "the gradient of `rows`";
  std::vector<std::int64_t> rows;
  for (const Graph& program : {graph, divide_loop(graph, loops[0], 6)}) {
    std::int64_t stacked = 0;
    for (const Node& node : program.nodes) {
      const Shape& shape = node.kind == NodeKind::carried ? program.values[node.results[0]].type.shape : Shape();
      if (shape.size() == 2 && shape[0] != 40) stacked += shape[0];
    }
    rows.push_back(stacked);
  }
  const auto stacks = static_cast<std::int64_t>(loops[0].stacks.size());
  EXPECT_EQ(rows[0], 36 * stacks);
  EXPECT_EQ(rows[1], 7 + 2 * 6 * stacks) << "the states, and the buffers, which two loops carry";
}

TEST(LoopSegments, DivideALoopInALoop) {
  const Graph graph = trace("m", {{"x", "f64[6]"}, {"rows", "f64[40, 6]"}}, [&](Tensor x, Tensor rows) {
    return for_loop(3, x, [&](Tensor, Tensor w) {
      const Tensor h = for_loop(10, w, [&](Tensor i, Tensor inside) { return step(i, inside * w + rows[i]); });
      return w - 0.1 * gradient(sum(h * h), w);
    });
  });
  const Graph planned = simplify(differentiate(graph));
  const std::vector<StackedLoop> loops = find_stacked_loops(planned);
  ASSERT_THAT(loops, SizeIs(1));
  const Graph divided = divide_loop(planned, loops[0], 4);
  EXPECT_THAT(verify(divided), IsEmpty()) << print(divided);
  expect_equal_bits(results_of(divided), results_of(planned));
}

TEST(LoopSegments, RepeatNoEffectAndNothingThatFollowsFromOne) {
  int calls = 0;
  const auto counted = [&](std::span<const double> x, std::span<double> y) {
    ++calls;
    std::copy(x.begin(), x.end(), y.begin());
  };
  const Graph graph = gradient_of_loop(12, [&](Tensor i, Tensor h) {
    const Tensor seen = host_call("seen", {"f64[6]"}, counted, stop_gradient(step(i, h)));
    return sin(h) * tanh(seen);
  });
  EXPECT_THAT(find_stacked_loops(graph), IsEmpty()) << "the carried value follows from the call";
  const Graph beside = gradient_of_loop(12, [&](Tensor i, Tensor h) {
    const Tensor seen =
        host_call("seen", {"f64[6]"}, counted, stop_gradient(0.1 * astype(i, DType::f64) + zeros({6}, {.dtype = DType::f64})));
    print("seen", sum(seen));
    return sin(h) * exp(-h);
  });
  const std::vector<StackedLoop> loops = find_stacked_loops(beside);
  ASSERT_THAT(loops, SizeIs(1));
  const Graph divided = divide_loop(beside, loops[0], 4);
  calls = 0;
  const std::vector<Array> expected = results_of(beside);
  EXPECT_EQ(std::exchange(calls, 0), 12);
  expect_equal_bits(results_of(divided), expected);
  EXPECT_EQ(calls, 12);
}

TEST(LoopSegments, AreNotMadeOfLoopsThatMayEndEarly) {
  const Graph graph = trace("m", {{"x", "f64[6]"}, {"rows", "f64[40, 6]"}}, [&](Tensor x, Tensor) {
    const Tensor h = for_loop(12, x, [&](Tensor i, Tensor inside) { return until(sum(inside) > 100, step(i, inside)); });
    return gradient(sum(h * h), x);
  });
  EXPECT_THAT(find_stacked_loops(simplify(differentiate(graph))), IsEmpty());
}

TEST(LoopSegments, KeepWhatIsPinned) {
  const Graph graph = gradient_of_loop(12, [](Tensor i, Tensor h) {
    const auto kept = recompute(false);
    return step(i, h);
  });
  for (const StackedLoop& loop : find_stacked_loops(graph))
    for (const NodeId stack : loop.stacks) {
      const Node& update = graph.producer(graph.nodes[stack].inputs[1]);
      EXPECT_NE(graph.producer(update.inputs[1]).recompute, Recompute::never);
    }
}

}  // namespace
}  // namespace cleave::testing
