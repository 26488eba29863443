// The intervals of the link's parameters in which a placement stays optimal, against exhaustive search inside, at the ends and just
// outside.
#include "partitioner/advice/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/brute_force.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_problem.h"
#include "tests/support/seeds.h"
#include "tools/bench/graph_families.h"

namespace cleave::testing {
namespace {

using Problem = PlacementProblem;
using ::testing::HasSubstr;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The problem with another latency and bandwidth of the link.
Problem with_link(Problem problem, const LinkLatency& latency, double bandwidth, double latency_factor) {
  const auto change = [&](double& seconds, double start) {
    start = std::min(start, seconds);
    seconds = latency_factor * start + (seconds - start) / bandwidth;
  };
  for (auto& value : problem.values) {
    change(value.host_to_accelerator_seconds, latency.to_accelerator_seconds);
    change(value.accelerator_to_host_seconds, latency.to_host_seconds);
  }
  return problem;
}

/// The problem with a faster accelerator.
Problem with_speed(Problem problem, double factor) {
  for (auto& node : problem.nodes) node.accelerator_seconds /= factor;
  for (auto& saving : problem.savings) saving.accelerator_seconds /= factor;
  return problem;
}

Problem with(const Problem& problem, const LinkLatency& latency, Varied varied, double factor) {
  if (varied == Varied::speed) return with_speed(problem, factor);
  return with_link(problem, latency, varied == Varied::bandwidth ? factor : 1, varied == Varied::latency ? factor : 1);
}

/// The difference between the placement's cost and the optimum of another problem.
double missing(const Problem& problem, const Placement& placement) {
  return testing::brute_force_cost(problem, placement.on_host, placement.on_accelerator) - testing::brute_force(problem).seconds;
}

TEST(Sensitivity, EqualsExhaustiveSearchInsideAndOutside) {
  int ends = 0;
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomProblemOptions options;
    options.max_nodes = 6;
    options.ties = seed % 2 == 0;
    const Problem problem = testing::random_problem(seed, options);
    const LinkLatency latency{0.5, 0.75};
    const auto placement = solve(problem);
    const auto answer = sensitivity(problem, *placement, latency);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    for (const auto& [varied, interval] :
         {std::pair(Varied::bandwidth, answer->bandwidth), {Varied::latency, answer->latency}, {Varied::speed, answer->speed}}) {
      SCOPED_TRACE(static_cast<int>(varied));
      ASSERT_LE(interval.low, 1);
      ASSERT_GE(interval.high, 1);
      const auto missing_at = [&, what = varied](double factor) { return missing(with(problem, latency, what, factor), *placement); };
      const double low = std::max(interval.low, 1e-3), high = std::min(interval.high, 1e3);  // an open end is replaced by a distant number
      for (const double inside : {low, std::sqrt(low), 1.0, std::sqrt(high), high})
        EXPECT_NEAR(missing_at(inside), 0, 1e-9 / low) << inside;
      if (interval.low > 0) {
        EXPECT_GT(missing_at(interval.low * 0.99), 1e-9) << interval.low;
        ++ends;
      }
      if (interval.high < kInfinity) {
        EXPECT_GT(missing_at(interval.high * 1.01), 1e-9) << interval.high;
        ++ends;
      }
    }
  }
  EXPECT_GT(ends, draws(400));
}

TEST(Sensitivity, OfOneTransferIsWhereItsPriceEqualsWhatItSaves) {
  Problem problem;
  problem.regions.emplace_back();
  problem.nodes.resize(2);
  problem.nodes[0].pin = Problem::Pin::host;
  problem.nodes[1].host_seconds = 7;
  problem.nodes[1].accelerator_seconds = 1;
  problem.values = {{0, 0, 3, 3}};  // 1 s of latency, 2 s for its size
  problem.uses = {{0, 1, 0}};
  const auto answer = sensitivity(problem, *solve(problem), {1, 1});
  ASSERT_TRUE(answer.ok());
  EXPECT_DOUBLE_EQ(answer->bandwidth.low, 2.0 / 5);
  EXPECT_EQ(answer->bandwidth.high, kInfinity);
  EXPECT_EQ(answer->latency.low, 0);
  EXPECT_DOUBLE_EQ(answer->latency.high, 4);
}

TEST(Sensitivity, HoldsOnAProblemOfRealSize) {
  const Problem problem = bench::make_problem(bench::Family::training, 5000);
  const LinkLatency latency{1e-5, 1e-5};
  const auto placement = solve(problem);
  const auto answer = sensitivity(problem, *placement, latency);
  ASSERT_TRUE(answer.ok());
  for (const double bandwidth : {answer->bandwidth.low, answer->bandwidth.high}) {
    ASSERT_GT(bandwidth, 0);
    ASSERT_LT(bandwidth, kInfinity);
    for (const bool outside : {false, true}) {
      const double off = (bandwidth < 1) == outside ? 1 - 1e-4 : 1 + 1e-4;
      const Problem other = with_link(problem, latency, bandwidth * off, 1);
      const double cost = evaluate(other, placement->on_host, placement->on_accelerator).objective_seconds;
      EXPECT_EQ(cost > solve(other)->objective_seconds * (1 + 1e-13), outside) << bandwidth;
    }
  }
}

TEST(Sensitivity, RefusesWhatIsNotOptimal) {
  Problem problem;
  problem.regions.emplace_back();
  problem.nodes.resize(1);
  problem.nodes[0].host_seconds = 2;
  problem.nodes[0].accelerator_seconds = 1;
  EXPECT_THAT(sensitivity(problem, evaluate(problem, {1}, {0}), {}).error().message, HasSubstr("is not optimal"));
  EXPECT_THAT(sensitivity(problem, evaluate(problem, {0}, {0}), {}).error().message, HasSubstr("has no copy"));
  const Placement best = *solve(problem);
  problem.accelerator_memory_bytes = 5;
  EXPECT_THAT(sensitivity(problem, best, {}).error().message, HasSubstr("memory"));
}

}  // namespace
}  // namespace cleave::testing
