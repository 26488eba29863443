// why and advise against solving the changed problem from scratch.
#include "partitioner/advice/advise.h"

#include <gtest/gtest.h>

#include "tests/support/namespaces.h"
#include "tests/support/random_problem.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using Problem = PlacementProblem;

TEST(Advise, EqualsSolvingWithEachNodeSetFree) {
  int worth = 0;
  for (std::uint64_t seed = 0; seed < draws(3000U); ++seed) {
    testing::RandomProblemOptions options;
    options.max_nodes = seed % 2 == 0 ? 10 : 60;
    options.max_regions = seed % 4 == 0 ? 1 : 6;
    options.ties = seed % 3 != 0;
    options.groups = seed % 5 == 0;
    const Problem problem = testing::random_problem(seed, options);
    std::vector<std::int32_t> candidates;
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      if (problem.nodes[i].pin == Problem::Pin::host) candidates.push_back(static_cast<std::int32_t>(i));
    }
    const auto advice = kernel_savings(problem, candidates);
    ASSERT_TRUE(advice.ok()) << advice.error().message;
    ASSERT_EQ(advice->size(), candidates.size());
    const double now = solve(problem)->objective_seconds;
    for (std::size_t i = 0; i < advice->size(); ++i) {
      const KernelSaving& item = (*advice)[i];
      Problem free = problem;
      free.nodes[item.node].pin = Problem::Pin::none;
      free.nodes[item.node].replicable = false;
      const double expected = solve(free)->objective_seconds;
      ASSERT_NEAR(item.optimum_seconds, expected, 1e-9) << "seed " << seed << " node " << item.node;
      ASSERT_NEAR(item.saved_seconds, now - expected, 1e-9) << "seed " << seed << " node " << item.node;
      ASSERT_LE(item.saved_seconds, (*advice)[i == 0 ? 0 : i - 1].saved_seconds);
      worth += item.saved_seconds > 1e-9;
    }
  }
  EXPECT_GT(worth, draws(500));
}

TEST(Advise, RefusesWhatIsNotPinnedToTheHost) {
  Problem problem;
  problem.regions.emplace_back();
  problem.nodes.resize(1);
  EXPECT_FALSE(kernel_savings(problem, {0}).ok());
  EXPECT_FALSE(kernel_savings(problem, {7}).ok());
  EXPECT_TRUE(kernel_savings(problem, {})->empty());
}

TEST(Why, GivesBothChoicesExactly) {
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    testing::RandomProblemOptions options;
    options.groups = false;
    options.keep = false;
    const Problem problem = testing::random_problem(seed, options);
    const auto placement = solve(problem);
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(problem.nodes.size()); ++node) {
      const auto answer = why(problem, *placement, node);
      ASSERT_TRUE(answer.ok());
      ASSERT_TRUE(answer->host.optimum_seconds && answer->accelerator.optimum_seconds);
      const auto pin = problem.nodes[node].pin;
      const bool replica = answer->on_host && answer->on_accelerator;
      if (pin == Problem::Pin::none && !replica) {  // its current side cannot be worse than the other one
        const Choice& chosen = answer->on_host ? answer->host : answer->accelerator;
        const Choice& other = answer->on_host ? answer->accelerator : answer->host;
        EXPECT_NEAR(*chosen.optimum_seconds, placement->objective_seconds, 1e-9) << "seed " << seed;
        EXPECT_NEAR(chosen.seconds_if_alone, placement->objective_seconds, 1e-9) << "seed " << seed;
        EXPECT_GE(*other.optimum_seconds, *chosen.optimum_seconds - 1e-9) << "seed " << seed;
      }
      for (const Choice* choice : {&answer->host, &answer->accelerator}) {
        EXPECT_LE(*choice->optimum_seconds, choice->seconds_if_alone + 1e-9) << "seed " << seed;
        EXPECT_LE(choice->execution_seconds + choice->transfer_seconds_if_alone, choice->seconds_if_alone + 1e-9) << "seed " << seed;
      }
    }
  }
  Problem problem;
  problem.regions.emplace_back();
  EXPECT_FALSE(why(problem, *solve(problem), 0).ok());
}

}  // namespace
}  // namespace cleave::testing
