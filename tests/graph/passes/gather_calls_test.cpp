// gather_calls: which calls are moved together, which operations come before, between and behind them, and operations that effects keep in
// place.
#include "graph/passes/gather_calls.h"

#include <gtest/gtest.h>

#include "graph/base/diagnostic_text.h"
#include "graph/host_function.h"
#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"

namespace cleave {
namespace {

Tensor call(const std::string& name, const HostOptions& options, const Tensor& x) {
  return host_call(
      name, {"f32[4]"}, options, [](std::span<const float>, std::span<float>) {}, x);
}
Tensor slow(const std::string& name, const Tensor& x) {
  return call(name, {.pure = true, .seconds = 1e-2}, x);
}

/// Operations after the pass in the region of the first call, host functions by their own names.
std::string order_of(const Graph& traced, int workers = 2) {
  EXPECT_TRUE(traced.ok()) << to_text(traced.diagnostics);
  const Graph graph = gather_calls(traced, workers);
  EXPECT_TRUE(verify(graph).empty()) << verify(graph).front();
  EXPECT_EQ(print(gather_calls(graph, workers)), print(graph)) << "twice is the same as once";
  std::string names;
  for (const Node& node : graph.nodes) {
    if (!node.op) continue;
    const HostFunction* function = node.host_function();
    names += (names.empty() ? "" : " ") + (function ? function->name : std::string(node.op->name));
  }
  return names;
}

TEST(GatherCalls, WhatCallsNeedThenTheCallsThenTheRest) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor a = slow("f", exp(x)) + x;
    const Tensor beside = cos(x);
    const Tensor b = a * slow("g", tanh(x));
    return named("y", b - beside);
  });
  EXPECT_EQ(order_of(graph), "exp tanh f g cos add multiply subtract");
}

TEST(GatherCalls, WithoutWorkersOnlyAsynchronousOnes) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const auto later = [](std::span<const float>, std::span<float>, HostToken) {};
    const Tensor a = exp(slow("f", x));
    const Tensor b = host_call("f2", {"f32[4]"}, {.pure = true}, later, x) * a;
    const Tensor c = exp(slow("g", x));
    return named("y", c - b - host_call("g2", {"f32[4]"}, {.pure = true}, later, x));
  });
  EXPECT_EQ(order_of(graph, 1), "f2 g2 f exp g exp multiply subtract subtract");
}

TEST(GatherCalls, CallsThatNeedOthersComeInALaterWave) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor a = slow("f2", slow("f1", x)) + 1;
    return named("y", a + slow("g2", slow("g1", x)));
  });
  EXPECT_EQ(order_of(graph), "f1 g1 f2 g2 add add");
}

TEST(GatherCalls, NothingCrossesAnEffect) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor a = exp(slow("f", x));
    const Tensor b = exp(slow("g", x));
    print("a", a);
    const Tensor c = exp(slow("h", x));
    const Tensor d = call("effect", {.seconds = 1e-2}, c);
    const Tensor e = slow("i", x);
    return named("y", a + b + c + d + e);
  });
  EXPECT_EQ(order_of(graph), "f g exp exp print h exp effect i add add add add");
}

TEST(GatherCalls, ShortOnesAndOneAloneStayWhereTheyAre) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor a = exp(call("f", {.pure = true, .seconds = 1e-5}, x));
    const Tensor b = exp(call("g", {.pure = true}, x));
    const Tensor c = a + b;
    return named("y", c + slow("h", x));
  });
  EXPECT_EQ(order_of(graph), "f exp g exp add h add");
}

TEST(GatherCalls, LoopsAndBranchesMoveWhole) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    const Tensor a = slow("f", x);
    const Tensor b = cond(
        sum(x) > 0, [&] { return exp(a); }, [&] { return a * 1; });
    const Tensor c = for_loop(3, x, [&](Tensor, Tensor each) { return each / 2; });
    const Tensor d = slow("g", x);
    const Tensor e = slow("h", c);
    return named("y", b + d - e);
  });
  EXPECT_EQ(order_of(graph), "divide f g h sum greater exp multiply add subtract");
}

TEST(GatherCalls, NoMoreThanAFewTogether) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    Tensor sum = x;
    for (int i = 0; i < kCallsTogether + 2; ++i) sum = sum + slow(std::string(1, static_cast<char>('a' + i)), x);
    return named("y", sum);
  });
  EXPECT_EQ(order_of(graph), "a b c d e f g h i j add add add add add add add add add add");
}

}  // namespace
}  // namespace cleave
