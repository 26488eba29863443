// hoist_invariant: operations that it moves out of loops, operations that it leaves there, and unchanged results (random programs:
// simplify_test.cpp).
#include "graph/passes/hoist_invariant.h"

#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/trace/trace.h"

namespace cleave {
namespace {

/// The kinds of the regions that contain the ops of this name after the pass, in program order.
std::vector<RegionKind> regions_of(const Graph& traced, std::string_view op) {
  EXPECT_TRUE(traced.ok());
  const Graph graph = hoist_invariant(traced);
  EXPECT_TRUE(verify(graph).empty()) << verify(graph).front();
  std::vector<RegionKind> found;
  for (const Node& node : graph.nodes)
    if (node.op && node.op->name == op) found.push_back(graph.regions[node.region].kind);
  return found;
}

using Places = std::vector<RegionKind>;
constexpr RegionKind kRoot = RegionKind::root, kBody = RegionKind::for_body, kThen = RegionKind::then_arm;

TEST(HoistInvariant, WhatReadsNothingOfTheLoopGoesInFrontOfIt) {
  const Graph graph = trace("t", {{"x", "f32[4]"}, {"w", "f32[4, 3]"}}, [](Tensor x, Tensor w) {
    return for_loop(10, x, [&](Tensor, Tensor y) {
      const Tensor column = w.slice({all_of_axis, 0});
      return y * exp(column + 1) + cos(y) + arange(4.0);
    });
  });
  EXPECT_EQ(regions_of(graph, "slice"), Places{kRoot});
  EXPECT_EQ(regions_of(graph, "exp"), Places{kRoot});
  EXPECT_EQ(regions_of(graph, "arange"), Places{kRoot});
  EXPECT_EQ(regions_of(graph, "cos"), Places{kBody});
  EXPECT_EQ(regions_of(graph, "multiply"), Places{kBody});
  EXPECT_EQ(regions_of(graph, "add"), (Places{kRoot, kBody, kBody}));
}

TEST(HoistInvariant, OneLevelWhereTheOuterLoopChangesAnOperand) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    return for_loop(10, x, [&](Tensor, Tensor y) { return for_loop(5, y, [&](Tensor, Tensor z) { return z * exp(y) + sin(x); }); });
  });
  const Graph after = hoist_invariant(graph);
  for (const Node& node : after.nodes) {
    if (!node.op) continue;
    if (node.op->name == "exp") {
      EXPECT_EQ(after.depth(node.region), 1);
    }
    if (node.op->name == "sin") {
      EXPECT_EQ(after.depth(node.region), 0);
    }
    if (node.op->name == "multiply") {
      EXPECT_EQ(after.depth(node.region), 2);
    }
  }
}

TEST(HoistInvariant, AnArmThatIsSeldomTakenKeepsItsWork) {
  const auto traced = [](double probability) {
    return trace("t", {{"x", "f32[4]"}, {"go", "bool[]"}}, [&](Tensor x, Tensor go) {
      return for_loop(10, x, [&](Tensor, Tensor y) {
        return cond(
            go, [&] { return y + exp(x); }, [&] { return y; }, {.probability = probability});
      });
    });
  };
  EXPECT_EQ(regions_of(traced(0.5), "exp"), Places{kRoot});
  EXPECT_EQ(regions_of(traced(0.01), "exp"), Places{kThen});
}

TEST(HoistInvariant, WhatMayFailOrHasAnEffectStaysAndAPinChangesNothing) {
  const Graph graph = trace("t", {{"x", "f32[4]"}, {"i", "i32[2]"}}, [](Tensor x, Tensor i) {
    return for_loop(10, 0.0F, [&](Tensor, Tensor y) {
      print("x", x);
      const auto pin = place(Device::host);
      return y + sum(take(x, i)) + sum(to_accelerator(x)) + sum(exp(x));
    });
  });
  EXPECT_EQ(regions_of(graph, "take"), Places{kBody});
  EXPECT_EQ(regions_of(graph, "print"), Places{kBody});
  EXPECT_EQ(regions_of(graph, "exp"), Places{kRoot});
  EXPECT_EQ(regions_of(graph, "to_accelerator"), Places{kBody});
}

/// The planner decides by cost whether a kernel in the loop reads the repeated elements directly from their source.
TEST(HoistInvariant, WhatRepeatsElementsMovesToo) {
  const Graph graph = trace("t", {{"x", "f32[64, 64]"}, {"w", "f32[64]"}}, [](Tensor x, Tensor w) {
    return for_loop(10, x, [&](Tensor, Tensor y) { return y + broadcast_to(w, {64, 64}); });
  });
  EXPECT_EQ(regions_of(graph, "broadcast_to"), Places{kRoot});
  const Graph reduced = trace("t", {{"x", "f32[64]"}, {"w", "f32[64]"}}, [](Tensor x, Tensor w) {
    return for_loop(10, x, [&](Tensor, Tensor y) { return y + sum(broadcast_to(w, {64, 64}), {.axis = 1}); });
  });
  EXPECT_EQ(regions_of(reduced, "broadcast_to"), Places{kRoot});
  EXPECT_EQ(regions_of(reduced, "sum"), Places{kRoot});
}

TEST(HoistInvariant, ThePredicateOfALoopStaysInIt) {
  const Graph graph = trace("t", {{"x", "f32[]"}},
                            [](Tensor x) { return while_loop([&](Tensor y) { return y < exp(x); }, x, [&](Tensor y) { return y + 1; }); });
  EXPECT_EQ(regions_of(graph, "exp"), Places{kRoot});
  EXPECT_EQ(regions_of(graph, "less"), Places{RegionKind::while_condition});
}

}  // namespace
}  // namespace cleave
