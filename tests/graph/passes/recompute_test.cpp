// Operations that are computed twice: where the second one stands, what reads it, and that results stay equal.
#include "graph/passes/recompute.h"

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

/// exp is read in front of the sine and behind it, abs only by exp.
Graph straight() {
  return trace("m", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor wide = exp(abs(x));
    const Tensor turned = sin(wide);
    return cos(turned) * wide;
  });
}

TEST(Recompute, StandsBeforeTheFirstReaderBehindTheMoment) {
  const Graph graph = straight();
  const Graph twice = recompute(graph, {{find_node(graph, "exp"), find_node(graph, "sin")}});
  EXPECT_THAT(verify(twice), IsEmpty()) << print(twice);
  EXPECT_THAT(ops_of(twice, Graph::kRoot), ElementsAre("input", "abs", "exp", "sin", "cos", "exp", "multiply"));
}

TEST(Recompute, RepeatsAChainInItsOrder) {
  const Graph graph = straight();
  const NodeId sine = find_node(graph, "sin");
  const Graph twice = recompute(graph, {{find_node(graph, "abs"), sine}, {find_node(graph, "exp"), sine}});
  EXPECT_THAT(verify(twice), IsEmpty()) << print(twice);
  EXPECT_THAT(ops_of(twice, Graph::kRoot), ElementsAre("input", "abs", "exp", "sin", "cos", "abs", "exp", "multiply"));
}

TEST(Recompute, WhatNothingReadsIsNotRepeated) {
  const Graph graph = straight();
  const Graph twice = recompute(graph, {{find_node(graph, "abs"), find_node(graph, "sin")}});
  EXPECT_EQ(print(twice), print(graph));
}

TEST(Recompute, IsDoneOnceForALoopThatReadsIt) {
  const Graph graph = trace("m", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor wide = exp(x);
    const Tensor turned = sin(wide);
    return for_loop(3, turned, [&](Tensor, Tensor inside) { return inside * wide; });
  });
  const Graph twice = recompute(graph, {{find_node(graph, "exp"), find_node(graph, "sin")}});
  EXPECT_THAT(verify(twice), IsEmpty()) << print(twice);
  EXPECT_THAT(ops_of(twice, Graph::kRoot), ElementsAre("input", "exp", "sin", "exp", "for"));
}

TEST(Recompute, StandsBeforeABranchWhoseMergeReadsIt) {
  const Graph graph = trace("m", {{"x", "f32[4]"}, {"p", "bool[]"}}, [](Tensor x, Tensor p) {
    const Tensor wide = exp(x);
    const Tensor turned = sin(wide);
    return cond(
        p, [&] { return wide; }, [&] { return cos(turned); });
  });
  const Graph twice = recompute(graph, {{find_node(graph, "exp"), find_node(graph, "sin")}});
  EXPECT_THAT(verify(twice), IsEmpty()) << print(twice);
  EXPECT_THAT(ops_of(twice, Graph::kRoot), ElementsAre("input", "input", "exp", "sin", "exp", "if", "merge"));
}

TEST(Recompute, KeepsAValueOnTheHostForWhatReadsItLater) {
  const Graph graph = straight();
  const NodeId sine = find_node(graph, "sin");
  IdVector<NodeId, NodeId> origin;
  const Graph kept = recompute(graph, {}, {{find_node(graph, "exp"), sine}}, &origin);
  EXPECT_THAT(verify(kept), IsEmpty()) << print(kept);
  EXPECT_THAT(ops_of(kept, Graph::kRoot), ElementsAre("input", "abs", "exp", "sin", "reshape", "cos", "multiply"));
  const Node& reshape = kept.nodes[find_node(kept, "reshape")];
  EXPECT_EQ(reshape.pin.side, Side::host);
  EXPECT_EQ(reshape.pin.reason, kKeptOnHost);
  EXPECT_EQ(kept.nodes[find_node(kept, "multiply")].inputs[1], reshape.results[0]);
  EXPECT_EQ(kept.producer(kept.nodes[find_node(kept, "sin")].inputs[0]).op->name, "exp");
  ASSERT_EQ(origin.size(), kept.nodes.size());
  EXPECT_EQ(origin[find_node(kept, "sin")], sine);
  EXPECT_FALSE(origin[find_node(kept, "reshape")].valid());
}

TEST(Recompute, ComputesAgainFromWhatTheHostKeeps) {
  const Graph graph = straight();
  const NodeId sine = find_node(graph, "sin");
  const Graph both = recompute(graph, {{find_node(graph, "exp"), sine}}, {{find_node(graph, "abs"), sine}});
  EXPECT_THAT(verify(both), IsEmpty()) << print(both);
  EXPECT_THAT(ops_of(both, Graph::kRoot), ElementsAre("input", "abs", "exp", "sin", "reshape", "cos", "exp", "multiply"));
  const Node& last = both.nodes[find_node(both, "multiply")];
  EXPECT_EQ(both.producer(both.producer(last.inputs[1]).inputs[0]).op->name, "reshape");
}

TEST(Recompute, TheNextTripReadsTheFirstResult) {
  const Graph graph = trace("m", {{"x", "f32[4]"}}, [](Tensor x) {
    return for_loop(3, x, [&](Tensor, Tensor inside) {
      const Tensor wide = exp(inside);
      print("product", sin(wide) * wide);
      return wide;
    });
  });
  const NodeId sine = find_node(graph, "sin");
  const Graph twice = recompute(graph, {{find_node(graph, "exp"), sine}});
  EXPECT_THAT(verify(twice), IsEmpty()) << print(twice);
  EXPECT_THAT(ops_of(twice, twice.nodes[find_node(twice, "sin")].region),
              ElementsAre("counter", "carried", "exp", "sin", "exp", "multiply", "print"));
  const Node& carried = twice.nodes[find_node(twice, "carried")];
  EXPECT_EQ(twice.values[carried.inputs[1]].producer, find_node(twice, "exp"));
}

}  // namespace
}  // namespace cleave::testing
