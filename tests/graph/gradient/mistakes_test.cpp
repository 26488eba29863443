// Mistakes in calls of `gradient`: one error each, with the way from the asked value, and where it stops.
#include <gtest/gtest.h>

#include "graph/gradient/differentiate.h"
#include "graph/ops/gradient.h"
#include "graph/ops/linear_algebra.h"
#include "graph/ops/ops.h"
#include "graph/ops/updates.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "graph/vocabulary.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

/// The messages of a program's gradient, with their notes, a line each.
std::string said(const Graph& traced) {
  const Graph graph = differentiate(traced);
  std::string text;
  for (const Diagnostic& diagnostic : graph.diagnostics) {
    text += std::string(to_string(diagnostic.severity)) + ": " + diagnostic.message + "\n";
    for (const Note& note : diagnostic.notes) text += "  " + note.message + "\n";
  }
  return text;
}

TEST(GradientMistakes, LossThatDoesNotDependOnTheValue) {
  const Graph graph = trace("m", {{"w", "f32[3]"}, {"x", "f32[3]"}}, [](Tensor w, Tensor x) { return gradient(sum(x), w); });
  EXPECT_EQ(said(graph), "error: the loss does not depend on `w`, so there is no gradient by it\n");
}

TEST(GradientMistakes, PathThatEndsAtAPiecewiseConstantOp) {
  const Graph graph = trace("m", {{"w", "f32[3]"}}, [](Tensor w) { return gradient(sum(round(w)), w); });
  EXPECT_EQ(said(graph),
            "error: the loss does not depend on `w`, so there is no gradient by it\n"
            "  `round` is piecewise constant: its gradient is zero\n");
}

TEST(GradientMistakes, StoppedPathIsAWarning) {
  const Graph graph = trace("m", {{"w", "f32[3]"}}, [](Tensor w) { return gradient(sum(stop_gradient(w)), w); });
  EXPECT_EQ(said(graph), "warning: the gradient by `w` is zero: `stop_gradient` stands on every way to the loss\n");
}

TEST(GradientMistakes, OpWithoutGradient) {
  const Graph graph = trace("m", {{"w", "f32[3]"}}, [](Tensor w) {
    const Tensor h = named("h", w * 2);
    return gradient(sum(unique(h).values), w);
  });
  EXPECT_EQ(said(graph),
            "error: `unique` has no gradient; `stop_gradient` takes its operand for a constant\n"
            "  the loss depends on it by `w` -> `h` -> `unique`\n"
            "  the gradient is asked for here\n");
}

TEST(GradientMistakes, HostFunctionWithoutGradient) {
  const auto call = [](Tensor x) {
    return host_call(
        "plant", {"f32[3]"}, {.pure = true}, [](std::span<const float> from, std::span<float> to) { to[0] = from[0]; }, x);
  };
  const Graph active = trace("m", {{"w", "f32[3]"}}, [&](Tensor w) { return gradient(sum(call(w)), w); });
  EXPECT_EQ(said(active),
            "error: the host function `plant` has no gradient; declare one, or pass it `stop_gradient` of its arguments\n"
            "  the loss depends on it by `w` -> `plant`\n"
            "  the gradient is asked for here\n");
  const Graph inactive = trace("m", {{"w", "f32[3]"}, {"x", "f32[3]"}}, [&](Tensor w, Tensor x) { return gradient(sum(call(x) * w), w); });
  EXPECT_EQ(said(inactive), "");
  // Nor is one behind which every way ends.
  const Graph stopped =
      trace("m", {{"w", "f32[3]"}}, [&](Tensor w) { return gradient(sum(stop_gradient(call(w)) * round(call(w)) * w), w); });
  EXPECT_EQ(said(stopped), "");
}

TEST(GradientMistakes, LoopWithoutBound) {
  const Graph graph = trace("m", {{"w", "f32[]"}}, [](Tensor w) {
    return gradient(while_loop([](Tensor x) { return x > 1; }, w, [](Tensor x) { return x / 2; }), w);
  });
  EXPECT_EQ(said(graph),
            "error: the number of trips of this loop has no bound, which its gradient needs to save values; `at_most: N` states one\n");
}

TEST(GradientMistakes, TypesAreCheckedAtTheCall) {
  const Graph vector = trace("m", {{"w", "f32[3]"}}, [](Tensor w) { return gradient(w * 2, w); });
  EXPECT_EQ(said(vector), "error: the loss of `gradient` must be a floating-point scalar, not f32[3]; `sum` or `mean` makes one of it\n");
  const Graph integer = trace("m", {{"w", "f32[3]"}, {"n", "i32[3]"}}, [](Tensor w, Tensor n) { return gradient(sum(w), n); });
  EXPECT_EQ(said(integer), "error: `gradient` by a value of type i32[3]: only floating-point values have a gradient\n");
}

TEST(GradientMistakes, CallInsideOfTheLoopThatCarriesTheValue) {
  const Graph graph =
      trace("m", {{"w", "f32[3]"}}, [](Tensor w) { return for_loop(3, w, [&](Tensor, Tensor s) { return s - gradient(sum(s * s), w); }); });
  EXPECT_NE(said(graph).find("`gradient` stands inside of the loop that carries this value"), std::string::npos) << said(graph);
}

}  // namespace
}  // namespace cleave::testing
