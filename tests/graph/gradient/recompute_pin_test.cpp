// The pin `recompute`: what a gradient computes again or keeps, that results are equal, and what cannot be computed again.
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
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/graph_queries.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Pinned { nothing, computed_again, kept };

/// Records `body` in the scope of a pin.
template <class Body>
Tensor pinned(Pinned pin, Body body) {
  if (pin == Pinned::nothing) return body();
  const auto scope = recompute(pin == Pinned::computed_again);
  return body();
}

/// The gradient as it is planned: after differentiation and the passes.
Graph gradient_of(const std::function<Tensor(Tensor)>& loss) {
  const Graph graph = trace("m", {{"x", "f64[6]"}}, [&](Tensor x) { return gradient(loss(x), x); });
  EXPECT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  Graph planned = simplify(differentiate(graph));
  EXPECT_THAT(verify(planned), IsEmpty()) << print(planned);
  return planned;
}

Array run_on(const Graph& graph) {
  RunOptions options;
  options.inputs.emplace("x", Array::of<double>({6}, {-1, 0.5, 2, 0.1, -0.3, 1}));
  Result<RunResult> result = runtime::run_reference(graph, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result->outputs.front().second : Array();
}

std::size_t count(const Graph& graph, std::string_view op, std::optional<Recompute> recompute = std::nullopt) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    found += graph.op_name(NodeId(i)) == op && (!recompute || graph.nodes[NodeId(i)].recompute == *recompute);
  return found;
}

TEST(RecomputePin, ComputesAStatementAgain) {
  const auto loss = [](Pinned pin) {
    return gradient_of([=](Tensor x) {
      const Tensor h = pinned(pin, [&] { return exp(sin(x)); });
      return sum(h * tanh(h));
    });
  };
  const Graph kept = loss(Pinned::nothing), again = loss(Pinned::computed_again);
  EXPECT_EQ(count(kept, "exp"), 1u);
  EXPECT_EQ(count(again, "exp", Recompute::always), 1u);
  EXPECT_EQ(count(again, "exp", Recompute::repetition), 1u) << print(again);
  EXPECT_EQ(count(again, "sin", Recompute::repetition), 1u) << "`exp` is computed from it";
  EXPECT_EQ(count(again, "tanh"), 1u) << "it has no pin";
  EXPECT_TRUE(run_on(kept) == run_on(again));
}

TEST(RecomputePin, OfTheInnermostScopeCounts) {
  const Graph graph = gradient_of([](Tensor x) {
    const auto around = recompute(true);
    const Tensor h = pinned(Pinned::kept, [&] { return exp(x); });
    return sum(tanh(h * h));
  });
  EXPECT_EQ(count(graph, "exp"), 1u);
  EXPECT_EQ(count(graph, "tanh", Recompute::repetition), 1u);
}

/// The stacks of a loop whose body is pinned.
std::size_t stacks(Pinned pin, const std::function<Tensor(Tensor, Tensor)>& body, Array& result) {
  const Graph graph = gradient_of(
      [&](Tensor x) { return sum(for_loop(5, x, [&](Tensor i, Tensor h) { return pinned(pin, [&] { return body(i, h); }); })); });
  result = run_on(graph);
  return count(graph, "dynamic_update_slice");
}

TEST(RecomputePin, OfALoopKeepsItsCarriedValuesAlone) {
  const auto body = [](Tensor, Tensor h) { return sigmoid(exp(tanh(h)) * h); };
  Array all, carried;
  EXPECT_GT(stacks(Pinned::nothing, body, all), 2u);
  EXPECT_EQ(stacks(Pinned::computed_again, body, carried), 1u);
  EXPECT_TRUE(all == carried);
}

TEST(RecomputePin, KeepsWhatIsCheapToComputeAgain) {
  const auto body = [](Tensor i, Tensor h) { return h * random_uniform({6}, 0, 1, {.seed = 3, .step = i, .dtype = DType::f64}); };
  Array again, kept;
  EXPECT_EQ(stacks(Pinned::nothing, body, again), 0u);
  EXPECT_EQ(stacks(Pinned::kept, body, kept), 1u);
  EXPECT_TRUE(again == kept);
}

TEST(RecomputePin, OfALongChainIsComputedAgainAsAWhole) {
  const auto chain = [](Pinned pin) {
    return gradient_of([=](Tensor x) {
      return sum(pinned(pin, [&] {
        Tensor h = x;
        for (int i = 0; i < 1000; ++i) h = sin(h);
        return h;
      }));
    });
  };
  const Graph again = chain(Pinned::computed_again);
  EXPECT_EQ(count(again, "sin", Recompute::repetition), 999u) << "the last one is not read";
  EXPECT_TRUE(run_on(chain(Pinned::nothing)) == run_on(again));
}

TEST(RecomputePin, OfASecondDerivative) {
  const auto second = [](Pinned pin) {
    const Graph graph = trace("m", {{"x", "f64[6]"}}, [&](Tensor x) {
      const Tensor h = pinned(pin, [&] { return sin(x); });
      return gradient(sum(gradient(sum(exp(h)), x)), x);
    });
    return simplify(differentiate(graph));
  };
  EXPECT_TRUE(run_on(second(Pinned::nothing)) == run_on(second(Pinned::computed_again)));
}

TEST(RecomputePin, OfWhatHasAnEffectIsAnError) {
  const Graph graph = trace("m", {{"x", "f64[6]"}}, [](Tensor x) {
    const auto again = recompute(true);
    const Tensor h = exp(x);
    print("h", h);
    {
      const auto once = recompute(false);
      print("again", h);
    }
    return gradient(sum(h), x);
  });
  ASSERT_EQ(graph.diagnostics.size(), 1u) << text_of_diagnostics(graph);
  EXPECT_THAT(text_of_diagnostics(graph), HasSubstr("`print` has an effect and cannot be computed again for a gradient; "
                                                    "`recompute: false` at this statement leaves it out"));
}

TEST(RecomputePin, IsPartOfTheText) {
  const Graph graph = gradient_of([](Tensor x) {
    const Tensor h = pinned(Pinned::computed_again, [&] { return exp(x); });
    return sum(tanh(pinned(Pinned::kept, [&] { return h * h; })));
  });
  const std::string text = print(graph);
  for (const char* clause : {" recompute true", " recompute false", " repetition"}) EXPECT_THAT(text, HasSubstr(clause));
  const Result<Graph> parsed = parse_graph(text, "m.graph");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(print(*parsed), text);
}

}  // namespace
}  // namespace cleave::testing
