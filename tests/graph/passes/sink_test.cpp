// Operations that move back into loops: their new position, and that the graph is well formed.
#include "graph/passes/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "tests/support/graph_queries.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// abs and exp before two nested loops, both of which read the result of exp.
Graph nested_loops() {
  return trace("m", {{"x", "f32[4]"}, {"y", "f32[4]"}}, [](Tensor x, Tensor y) {
    const Tensor z = exp(abs(y));
    return for_loop(3, x, [&](Tensor, Tensor outer) {
      const Tensor inside = for_loop(5, outer, [&](Tensor, Tensor inner) { return tanh(inner) * z; });
      return inside - z;
    });
  });
}

TEST(Sink, StandsRightBeforeTheFirstThatReadsItOrHoldsWhoDoes) {
  const Graph graph = nested_loops();
  const RegionId outer = region_of(graph, "subtract");
  const Graph sunk = sink(graph, {{find_node(graph, "abs"), outer}, {find_node(graph, "exp"), outer}});
  EXPECT_THAT(verify(sunk), IsEmpty()) << print(sunk);
  EXPECT_THAT(ops_of(sunk, Graph::kRoot), ElementsAre("input", "input", "for"));
  EXPECT_THAT(ops_of(sunk, region_of(sunk, "subtract")), ElementsAre("counter", "carried", "abs", "exp", "for", "subtract"));
}

TEST(Sink, PartOfAChainMayStay) {
  const Graph graph = nested_loops();
  const Graph sunk = sink(graph, {{find_node(graph, "exp"), region_of(graph, "subtract")}});
  EXPECT_THAT(verify(sunk), IsEmpty()) << print(sunk);
  EXPECT_THAT(ops_of(sunk, Graph::kRoot), ElementsAre("input", "input", "abs", "for"));
}

TEST(Sink, GoesAsDeepAsItsReaders) {
  const Graph graph = trace("m", {{"x", "f32[4]"}, {"y", "f32[4]"}}, [](Tensor x, Tensor y) {
    const Tensor z = exp(y);
    return for_loop(3, x, [&](Tensor, Tensor outer) { return for_loop(5, outer, [&](Tensor, Tensor inner) { return tanh(inner) * z; }); });
  });
  const Graph sunk = sink(graph, {{find_node(graph, "exp"), region_of(graph, "tanh")}});
  EXPECT_THAT(verify(sunk), IsEmpty()) << print(sunk);
  EXPECT_THAT(ops_of(sunk, region_of(sunk, "tanh")), ElementsAre("counter", "carried", "tanh", "exp", "multiply"));
}

TEST(Sink, GoesToTheEndOfAConditionThatOnlyItsBodyReadsItBehind) {
  const Graph graph = trace("m", {{"x", "f32[4]"}, {"y", "f32[4]"}}, [](Tensor x, Tensor y) {
    const Tensor z = exp(abs(y));
    return while_loop([](Tensor carried) { return sum(carried) < 3.0F; }, x, [&](Tensor carried) { return tanh(carried) * z; });
  });
  const RegionId body = region_of(graph, "tanh"), condition = graph.regions[body].parent;
  const Graph sunk = sink(graph, {{find_node(graph, "abs"), condition}, {find_node(graph, "exp"), condition}});
  EXPECT_THAT(verify(sunk), IsEmpty()) << print(sunk);
  EXPECT_THAT(ops_of(sunk, region_of(sunk, "exp")), ElementsAre("carried", "sum", "constant", "less", "abs", "exp"));
  const Graph deeper = sink(graph, {{find_node(graph, "abs"), condition}, {find_node(graph, "exp"), body}});
  EXPECT_THAT(verify(deeper), IsEmpty()) << print(deeper);
  EXPECT_THAT(ops_of(deeper, region_of(deeper, "exp")), ElementsAre("tanh", "exp", "multiply"));
}

}  // namespace
}  // namespace cleave::testing
