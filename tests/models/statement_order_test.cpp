// Plans of the shipped models do not depend on the order of independent statements, those that train included: contributions to a gradient
// are added in an order that follows from the computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/api/wiring.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "graph/vocabulary.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/all_models.h"
#include "tests/support/namespaces.h"
#include "tests/support/other_order.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

/// Whether the order of nodes has a meaning: the rule of a custom gradient is what stands between its two nodes.
bool has_custom_gradient(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == &op::custom_gradient; });
}

Plan plan_of(const Graph& graph) {
  return planner::plan(graph, runtime::wire({.device = "simulated"})->plan);
}

TEST(StatementOrder, ChangesNoPlanOfAModel) {
  std::size_t compared = 0;
  const std::size_t enough = kSanitized ? 10 : 100;  // a sanitizer makes minutes of them
  for (const std::filesystem::path& path : all_models()) {
    if (kSanitized && compared >= enough) break;
    SCOPED_TRACE(path.string());
    const Graph graph = read_model(path.string(), {});
    if (!graph.ok() || has_custom_gradient(graph)) continue;
    const Plan plan = plan_of(graph);
    if (!plan.ok()) continue;
    for (std::uint64_t seed = 0; seed < (kSanitized ? 1U : seeds(3)); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const Graph other = in_another_order(graph, random);
      ASSERT_TRUE(verify(other).empty()) << verify(other).front();
      const Plan again = plan_of(other);
      ASSERT_TRUE(again.ok());
      EXPECT_NEAR(again.placement.objective_seconds, plan.placement.objective_seconds, 1e-6 * plan.placement.objective_seconds);
      ++compared;
    }
  }
  EXPECT_GE(compared, enough);
}

}  // namespace
}  // namespace cleave::testing
