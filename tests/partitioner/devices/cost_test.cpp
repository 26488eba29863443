// The least sum of costs on several accelerators, against exhaustive searches that share no code with the planner: the cost of a choice of
// copies, each single move, and the whole search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "partitioner/devices/device_move.h"
#include "partitioner/devices/least_cost.h"
#include "partitioner/solver/placement.h"
#include "tests/support/random_devices.h"
#include "tests/support/random_problem.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace planner;

std::vector<std::uint64_t> copies_of(const std::vector<DeviceSet>& on) {
  std::vector<std::uint64_t> copies;
  for (const DeviceSet set : on) copies.push_back(set.bits);
  return copies;
}

/// A random choice of devices for each class.
std::vector<DeviceSet> random_devices_of(const DeviceClasses& classes, std::mt19937_64& random) {
  std::vector<DeviceSet> on;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    DeviceSet set;
    while (set.empty()) set = DeviceSet(random()) & classes.allowed[c];
    on.push_back(classes.replicable[c] && random() % 3 == 0 ? set : DeviceSet::only(set.lowest()));
  }
  return on;
}

TEST(DeviceCosts, AreThoseOfTheCheapestTransfersForGivenCopies) {
  for (std::uint64_t seed = 0; seed < draws(3000U); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.nodes = 5, .max_regions = 3, .savings = seed % 3 == 0});
    ASSERT_TRUE(verify(problem).ok()) << verify(problem).error().message;
    const auto classes = device_classes(problem);
    if (!classes) continue;
    std::mt19937_64 random(seed);
    const PlacedDevices placed = evaluate_devices(problem, classes->per_node(random_devices_of(*classes, random)));
    EXPECT_NEAR(placed.objective_seconds, exhaustive_device_cost(problem, copies_of(placed.on)), 1e-9 * (1 + placed.objective_seconds))
        << "seed " << seed;
    EXPECT_THAT(verify(problem, placed), IsEmpty()) << "seed " << seed;
  }
}

TEST(DeviceCosts, AreThoseOfTwoSidesWithOneAccelerator) {
  for (std::uint64_t seed = 0; seed < draws(2000U); ++seed) {
    const DeviceProblem problem{random_problem(seed, {.keep = false, .savings = seed % 2 == 0}), {{}}, {}};
    const auto two_sides = solve(problem.base);
    const auto devices = place_by_cost(problem);
    ASSERT_EQ(two_sides.ok(), devices.ok()) << "seed " << seed;
    if (!devices) continue;
    EXPECT_NEAR(devices->objective_seconds, two_sides->objective_seconds, 1e-9 * (1 + two_sides->objective_seconds)) << "seed " << seed;
    EXPECT_EQ(devices->gap, 0) << "seed " << seed;
  }
}

/// The least cost over all choices between the options.
double least_of_choices(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses, const MoveOptions& options) {
  std::vector<DeviceSet> on = options.first;
  double least = INFINITY;
  const auto choose = [&](const auto& self, std::size_t c) -> void {
    if (c == on.size()) {
      least = std::min(least, cost_of_devices(problem, uses, classes.per_node(on)));
      return;
    }
    on[c] = options.first[c];
    self(self, c + 1);
    if (options.first[c] == options.second[c]) return;
    on[c] = options.second[c];
    self(self, c + 1);
    if (options.copies && classes.replicable[c]) {
      on[c] = options.first[c] | options.second[c];
      self(self, c + 1);
    }
  };
  choose(choose, 0);
  return least;
}

/// Every expansion and every swap from random placements, against all choices of all classes.
TEST(DeviceMoves, FindTheCheapestOfAllChoices) {
  int rounded = 0, worse = 0, moves = 0;
  for (std::uint64_t seed = 0; seed < draws(1500U); ++seed) {
    const int replicable = seed % 2 == 0 ? 7 : 0;
    const bool peers = seed % 5 == 4;
    const DeviceProblem problem =
        random_devices(seed, {.nodes = 7, .max_regions = 3, .replicable = replicable, .savings = seed % 3 == 0, .peers = peers});
    const auto classes = device_classes(problem);
    if (!classes) continue;
    const UsesByValue uses(problem.base);
    std::mt19937_64 random(seed);
    std::vector<DeviceSet> on = random_devices_of(*classes, random);
    std::vector<MoveOptions> all;
    for (std::size_t d = 0; d < problem.devices(); ++d) all.push_back(expansion(*classes, on, d));
    all.push_back(swap_devices(*classes, on, random() % 4, 0));
    all.push_back(swap_devices(*classes, on, 1, 2 + random() % 2));
    for (const MoveOptions& options : all) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", to device " + std::to_string(options.to));
      const MoveChoice choice = best_move(problem, *classes, uses, options);
      const double cost = cost_of_devices(problem, uses, classes->per_node(choice.on)), rounding = 1e-9 * (1 + cost);
      const double least = least_of_choices(problem, *classes, uses, options);
      EXPECT_GE(cost, least - rounding);
      const double changeable = changeable_cost(problem, *classes, uses, options.free_classes(), choice.on);
      if (problem.base.savings.empty()) {
        EXPECT_LE(changeable, choice.seconds + rounding) << "a cut never promises less than its choice costs";
      }
      ++moves;
      rounded += choice.rounded;
      worse += cost > least + rounding;
      if (choice.rounded) continue;
      EXPECT_NEAR(cost, least, rounding);
      if (problem.base.savings.empty()) {
        EXPECT_NEAR(changeable, choice.seconds, rounding);
      }
    }
  }
  std::printf("%d moves, %d with a rounded price, %d of these not the cheapest\n", moves, rounded, worse);
  EXPECT_LE(worse, moves / 20) << "prices are rounded up only where no cut can express them";
}

/// 8 nodes, 3 accelerators and the host; CLEAVE_TEST_SEEDS=1000 for more problems.
TEST(DeviceCosts, AreNearlyAlwaysTheLeast) {
  int problems = 0, optimal = 0, proved = 0;
  double excess = 0, worst = 0;
  for (std::uint64_t seed = 0; seed < seeds(draws(200U)); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.savings = seed % 10 == 1});
    const auto placed = place_by_cost(problem);
    if (!placed) continue;
    ++problems;
    EXPECT_THAT(verify(problem, *placed), IsEmpty()) << "seed " << seed;
    const std::optional<double> cheaper = cheaper_placement(problem, placed->objective_seconds);
    const double least = cheaper ? *cheaper : placed->objective_seconds;
    EXPECT_LE(placed->bound_seconds, least * (1 + 1e-9) + 1e-12) << "seed " << seed;
    optimal += !cheaper;
    proved += placed->gap == 0;
    if (!cheaper) continue;
    excess += placed->objective_seconds / least - 1;
    worst = std::max(worst, placed->objective_seconds / least - 1);
    std::printf("seed %llu: %g, but %g is possible\n", static_cast<unsigned long long>(seed), placed->objective_seconds, least);
  }
  std::printf("%d problems, %d optimal, %d proved, mean excess %.4f %%, worst %.2f %%\n", problems, optimal, proved,
              100 * excess / problems, 100 * worst);
  EXPECT_GE(optimal, problems * 96 / 100);
  EXPECT_LE(excess / problems, 0.001);
}

TEST(DeviceCosts, RespectTheMemoryOfEachAccelerator) {
  int problems = 0, optimal = 0;
  double excess = 0;
  for (std::uint64_t seed = 0; seed < draws(150U); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.nodes = 6, .memory = true});
    const auto placed = place_by_cost(problem);
    if (!placed) continue;
    ++problems;
    EXPECT_THAT(verify(problem, *placed), IsEmpty()) << "seed " << seed;
    const std::optional<double> cheaper = cheaper_placement(problem, placed->objective_seconds);
    const double least = cheaper ? *cheaper : placed->objective_seconds;
    EXPECT_LE(placed->bound_seconds, least * (1 + 1e-9) + 1e-12) << "seed " << seed;
    optimal += !cheaper;
    if (cheaper) excess += placed->objective_seconds / least - 1;
  }
  std::printf("%d problems with short memory, %d optimal, mean excess %.3f %%\n", problems, optimal, 100 * excess / problems);
  EXPECT_GE(optimal, problems * 90 / 100);
}

TEST(DeviceCosts, OfEqualAcceleratorsAreThoseOfOne) {
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.unlike = false});
    const auto placed = place_by_cost(problem);
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    EXPECT_EQ(placed->gap, 0) << "seed " << seed;
    EXPECT_NEAR(placed->objective_seconds, solve(problem.base)->objective_seconds, 1e-9 * (1 + placed->objective_seconds))
        << "seed " << seed;
  }
}

TEST(DeviceProblems, AreRefusedWithTheReason) {
  const auto refused = [](const DeviceProblem& problem) {
    const auto placed = place_by_cost(problem);
    return placed ? std::string("accepted") : placed.error().message;
  };
  DeviceProblem problem = random_devices(3, {.nodes = 4, .unlike = false});
  problem.accelerators.clear();
  EXPECT_THAT(refused(problem), HasSubstr("accelerators must hold at least one"));
  problem.accelerators.resize(64);
  EXPECT_THAT(refused(problem), HasSubstr("64, but there may be 63 at most"));
  problem.accelerators.assign(2, {});
  problem.accelerators[1].seconds = {1};
  EXPECT_THAT(refused(problem), HasSubstr("accelerators[1].seconds has 1 numbers, but there are 4 nodes"));
  problem.accelerators[1].seconds = {1, 2, -3, 4};
  EXPECT_THAT(refused(problem), HasSubstr("accelerators[1].seconds[2] must be a finite number"));
  problem.accelerators[1].seconds.clear();
  problem.accelerators[1].memory_bytes = 0.5;
  EXPECT_THAT(refused(problem), HasSubstr("accelerators[1].memory_bytes must be 0 (no limit) or at least 1"));
  problem.accelerators[1].memory_bytes = 0;
  problem.peers.push_back({DeviceId(std::size_t{1}), DeviceId(std::size_t{3}), {}});
  EXPECT_THAT(refused(problem), HasSubstr("peers[0].between names an accelerator that does not exist; there are 2"));
  problem.peers.clear();
  for (auto& node : problem.base.nodes)
    node = {.accelerator_seconds = 1, .pin = PlacementProblem::Pin::accelerator, .accelerator_bytes = 8};
  problem.accelerators[0].memory_bytes = problem.accelerators[1].memory_bytes = 12;
  EXPECT_THAT(refused(problem), HasSubstr("what must be on accelerators needs 32 B, but their memories have 24 B together"));
  problem.accelerators[0].memory_bytes = problem.accelerators[1].memory_bytes = 4;
  EXPECT_THAT(refused(problem), HasSubstr("needs 8 B, but none that can run it has more than 4 B"));
}

}  // namespace
}  // namespace cleave::testing
