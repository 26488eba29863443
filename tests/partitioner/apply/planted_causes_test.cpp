// Programs with round trips planted at known lines: each one must be reported, at its line and with its cause, and no other.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/planted.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

TEST(PlantedCauses, AreFoundAtTheirLinesAndNothingElseIs) {
  const PlanOptions options = planted_options(Policy::accelerator);
  std::map<std::string, int> kinds;
  for (std::uint64_t seed = 0; seed < (testing::kSanitized ? 30 : 1500); ++seed) {
    const Planted planted(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + planted.text());
    const Plan plan = planner::plan(parse_model(planted.text(), "planted.yaml"), options);
    ASSERT_TRUE(plan.ok()) << to_text(plan.diagnostics);
    std::map<int, std::string> found;
    for (const RoundTrip& trip : plan.round_trips) {
      if (!trip.warned() && !trip.hidden) continue;  // an alias that is cheaper on the host
      const bool first = found.emplace(plan.graph->nodes[trip.blamed].location.line, std::string(to_string(trip.via))).second;
      EXPECT_TRUE(first) << "two at one line";
    }
    ASSERT_EQ(found, planted.expected());
    for (const auto& [line, via] : found) ++kinds[via];
  }
  for (const char* via : {"data", "control", "effect"}) EXPECT_GT(kinds[via], testing::kSanitized ? 3 : 200) << via;
}

/// Even if the optimum moves operations to the host because they are cheaper there, the named lines are those of the causes.
TEST(PlantedCauses, AreNamedUnderTheOptimumToo) {
  const PlanOptions options = planted_options(Policy::optimal);
  std::size_t named = 0;
  for (std::uint64_t seed = 0; seed < (testing::kSanitized ? 15 : 500); ++seed) {
    const Planted planted(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + planted.text());
    const Plan plan = planner::plan(parse_model(planted.text(), "planted.yaml"), options);
    ASSERT_TRUE(plan.ok()) << to_text(plan.diagnostics);
    for (const RoundTrip& trip : plan.round_trips) {
      if (!trip.warned()) continue;
      const int line = plan.graph->nodes[trip.blamed].location.line;
      ASSERT_TRUE(planted.expected().contains(line)) << line;
      ++named;
    }
  }
  EXPECT_GT(named, testing::kSanitized ? 15u : 500u);
}

}  // namespace
}  // namespace cleave::testing
