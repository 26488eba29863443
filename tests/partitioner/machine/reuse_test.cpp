// Reuse distances of the values that an operation reads and writes: in a straight-line program, around a loop, and in its branches.
#include "partitioner/machine/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "partitioner/machine/op_costs.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

/// Distances of the values of the n-th operation of that name.
std::vector<double> distances(const Graph& graph, const std::string& op, int n = 0) {
  const Reuse reuse(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != NodeKind::operation || node.op->name != op || n-- > 0) continue;
    std::vector<double> found;
    for (const Reuse::Operand& each : reuse.of(NodeId(i))) {
      EXPECT_EQ(each.bytes, 1024);
      found.push_back(each.distance);
    }
    return found;
  }
  return {};
}

TEST(Reuse, InAStraightProgramIsWhatLiesBetweenAndARunRepeats) {
  const Graph graph = trace("m", {{"x", "f32[256]"}}, [](const Tensor& x) {
    const Tensor a = exp(x), b = tanh(a), c = sqrt(b), d = x * x;
    return c + d;
  });
  const double all = 6 * 1024;
  EXPECT_THAT(distances(graph, "exp"), ElementsAre(all, all));
  EXPECT_THAT(distances(graph, "tanh"), ElementsAre(2 * 1024, all));
  EXPECT_THAT(distances(graph, "multiply"), ElementsAre(6 * 1024, all)) << "an operand twice is one";
  EXPECT_THAT(distances(graph, "add"), ElementsAre(5 * 1024, 3 * 1024, all));
}

TEST(Reuse, InALoopIsWhatATripTouches) {
  const Graph graph = trace("m", {{"x", "f32[256]"}, {"y", "f32[256]"}}, [](const Tensor& x, const Tensor& y) {
    const Tensor big = concat({exp(x), tanh(x), sqrt(x)});
    return for_loop(10, x, [&](const Tensor&, const Tensor& value) { return value * y; }) + sum(big);
  });
  EXPECT_THAT(distances(graph, "multiply"), ElementsAre(3 * 1024, 3 * 1024, 3 * 1024));
}

TEST(Reuse, TellsWhatMemoryMakesOfAMeasuredTime) {
  DeviceRates machine;
  machine.overhead_seconds = 1e-6;
  // A cache of 1 MiB at 100 GB/s before memory of 10 GB/s.
  machine.points["sum/f32"] = {{1, 1e-6}, {1024, 1e-6 + 4096 / 1e11}, {262144, 1e-6 + 1048576 / 1e11}, {1 << 22, 1e-6 + 16777216 / 1e10}};
  const OpCosts costs(machine);
  EXPECT_DOUBLE_EQ(costs.from_memory(3e-6, {{1e5, 2e5}}), 3e-6) << "all of it stays in the cache";
  EXPECT_NEAR(costs.from_memory(2e-6, {{1e5, 1.6e7}}), 1e-6 + 1e5 / 1e10, 1e-7) << "none of it does";
  EXPECT_NEAR(costs.from_memory(2e-5, {{1e5, 1.6e7}}), 2e-5, 1e-8) << "computing takes longer";
  EXPECT_NEAR(costs.from_memory(3e-6, {{1e5, 2e5}, {1e5, 1.6e7}}), 1e-6 + 1e5 / 1e10 + 1e5 / 1e11, 1e-7) << "some of it does";
  EXPECT_DOUBLE_EQ(OpCosts(DeviceRates()).from_memory(2e-6, {{1e5, 1.6e7}}), 2e-6) << "nobody measured memory";
}

}  // namespace
}  // namespace cleave::testing
