// The generated problems are well formed, of the size asked for, alike for equal seeds, and solved the same in every way.
#include "tools/bench/graph_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner/solver/placement.h"

namespace cleave::bench {
namespace {

TEST(GraphFamilies, AreWellFormedAndSolvedAlikeByAllSolvers) {
  for (const Family family : all_families()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::string(to_string(family)) + " seed " + std::to_string(seed));
      const PlacementProblem problem = make_problem(family, 3000, seed);
      EXPECT_TRUE(verify(problem).ok());
      EXPECT_GE(problem.nodes.size(), 3000u);
      EXPECT_LE(problem.nodes.size(), 3400u);
      const auto ours = solve(problem), boost = solve(problem, {.solver = Solver::boost, .reduce = false});
      ASSERT_TRUE(ours.ok() && boost.ok());
      EXPECT_THAT(verify(problem, *ours), ::testing::IsEmpty());
      EXPECT_EQ(ours->gap, 0);
      EXPECT_EQ(ours->on_host, boost->on_host);
      EXPECT_EQ(ours->on_accelerator, boost->on_accelerator);
      EXPECT_EQ(ours->transfers, boost->transfers);
      for (const bool everything_on_host : {true, false}) {  // the optimum is no worse than either extreme
        std::vector<std::uint8_t> host(problem.nodes.size()), accelerator(problem.nodes.size());
        for (std::size_t i = 0; i < host.size(); ++i) {
          const auto pin = problem.nodes[i].pin;
          host[i] = pin == PlacementProblem::Pin::none ? everything_on_host : pin == PlacementProblem::Pin::host;
          accelerator[i] = !host[i];
        }
        EXPECT_LE(ours->objective_seconds, evaluate(problem, host, accelerator).objective_seconds);
      }
    }
    EXPECT_EQ(parse_family(to_string(family)), family);
  }
  EXPECT_FALSE(parse_family("nothing"));
  EXPECT_EQ(solve(make_problem(Family::layered, 500, 4))->objective_seconds,
            solve(make_problem(Family::layered, 500, 4))->objective_seconds);
}

}  // namespace
}  // namespace cleave::bench
