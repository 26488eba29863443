// The heuristic placement rules that the benchmarks compare with: each gives a valid placement that costs no less than the optimum and
// follows the rule's name.
#include "tools/bench/rules.h"
#include "tests/support/seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/brute_force.h"
#include "tests/support/random_problem.h"
#include "tools/bench/graph_families.h"

namespace cleave::bench {
namespace {

using Problem = PlacementProblem;
using Pin = Problem::Pin;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Rules, AreFeasibleAndNeverBeatTheOptimum) {
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    cleave::testing::RandomProblemOptions options;
    options.ties = seed % 2 == 0;
    const Problem problem = cleave::testing::random_problem(seed, options);
    const double optimum = cleave::testing::brute_force(problem).seconds;
    for (const Rule rule : all_rules()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(to_string(rule)));
      const auto placed = place_by(rule, problem);
      ASSERT_TRUE(placed.ok());
      EXPECT_THAT(verify(problem, *placed), IsEmpty());
      EXPECT_GE(placed->objective_seconds, optimum - 1e-9);
      EXPECT_NEAR(placed->objective_seconds, cleave::testing::brute_force_cost(problem, placed->on_host, placed->on_accelerator), 1e-9);
    }
  }
}

TEST(Rules, AreFeasibleOnEveryFamily) {
  for (const Family family : all_families()) {
    const Problem problem = make_problem(family, 2000);
    const double optimum = solve(problem)->objective_seconds;
    for (const Rule rule : all_rules()) {
      const auto placed = place_by(rule, problem);
      ASSERT_TRUE(placed.ok());
      EXPECT_THAT(verify(problem, *placed), IsEmpty()) << to_string(family) << ", " << to_string(rule);
      EXPECT_GE(placed->objective_seconds, optimum * (1 - 1e-12)) << to_string(family) << ", " << to_string(rule);
    }
  }
}

Problem::Node rule_node(double host, double accelerator, Pin pin = Pin::none, double bytes = 1000) {
  Problem::Node result;
  result.host_seconds = host;
  result.accelerator_seconds = accelerator;
  result.pin = pin;
  result.accelerator_bytes = bytes;
  return result;
}

/// A problem of `nodes` with one value each, whose transfer takes 1 s.
Problem problem_of(std::vector<Problem::Node> nodes, std::vector<Problem::Use> uses) {
  Problem problem;
  problem.regions.emplace_back();
  problem.nodes = std::move(nodes);
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) problem.values.push_back({static_cast<std::int32_t>(i), 0, 1, 1});
  problem.uses = std::move(uses);
  return problem;
}

TEST(Rules, NodeByNodeTakesTheFasterSide) {
  const Problem problem = problem_of({rule_node(2, 1), rule_node(1, 2), rule_node(1, 1), rule_node(9, 1, Pin::host)}, {});
  EXPECT_THAT(place_by(Rule::node_wise, problem)->on_accelerator, ElementsAre(1, 0, 0, 0));
}

TEST(Rules, TheCutPerEdgePaysASharedTransferTwice) {
  // A host value with two uses: one transfer for both pays off (1.5), a transfer for each use does not.
  const Problem problem = problem_of({rule_node(0, 0, Pin::host), rule_node(1, 0.25), rule_node(1, 0.25)}, {{0, 1, 0}, {0, 2, 0}});
  EXPECT_THAT(place_by(Rule::per_edge, problem)->on_accelerator, ElementsAre(0, 0, 0));
  EXPECT_THAT(solve(problem)->on_accelerator, ElementsAre(0, 1, 1));
}

TEST(Rules, PriorityLeavesWorkOnSmallHostValuesToTheHost) {
  const Problem problem = problem_of({rule_node(1, 1, Pin::host, 8), rule_node(1, 1, Pin::none, 8), rule_node(1, 1), rule_node(1, 1)},
                                     {{0, 1, 0}, {1, 2, 0}, {1, 3, 0}, {2, 3, 0}});
  EXPECT_THAT(place_by(Rule::priority, problem)->on_accelerator, ElementsAre(0, 0, 0, 1));
}

TEST(Rules, ReadersFollowTheirWeightsAndOthersTheirNeighbours) {
  const Problem problem =
      problem_of({rule_node(1, 1), rule_node(0, 0), rule_node(1, 1), rule_node(1, 1), rule_node(1, 1, Pin::host), rule_node(1, 1)},
                 {{1, 3, 0}, {0, 2, 0}, {4, 5, 0}});
  EXPECT_THAT(place_by(Rule::follow_the_weights, problem)->on_accelerator, ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST(Rules, RefusePinsThatContradictEachOther) {
  Problem problem = problem_of({rule_node(1, 1, Pin::host), rule_node(1, 1, Pin::accelerator)}, {});
  problem.nodes[0].group = problem.nodes[1].group = 1;
  EXPECT_FALSE(place_by(Rule::all_host, problem).ok());
}

}  // namespace
}  // namespace cleave::bench
