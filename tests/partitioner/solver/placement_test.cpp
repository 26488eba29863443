// The solver against exhaustive search, the uniqueness of its answer under renumbering, and small cases whose answer can be checked by
// hand.
#include "partitioner/solver/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "partitioner/solver/subset_sum.h"
#include "tests/support/brute_force.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_problem.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using cleave::testing::brute_force;
using testing::RandomProblemOptions;
using Problem = PlacementProblem;
using Sides = std::vector<std::uint8_t>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_optimal(const Problem& problem, std::uint64_t seed, const SolveOptions& options = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + testing::describe(problem));
  const auto expected = brute_force(problem);
  const Result<Placement> solved = solve(problem, options);
  ASSERT_EQ(solved.ok(), expected.feasible) << (solved.ok() ? "" : solved.error().message);
  if (!solved.ok()) return;
  EXPECT_THAT(verify(problem, *solved), IsEmpty());
  EXPECT_NEAR(solved->objective_seconds, expected.seconds, 1e-9);
  EXPECT_NEAR(solved->bound_seconds, expected.seconds, 1e-9);
  EXPECT_NEAR(testing::brute_force_cost(problem, solved->on_host, solved->on_accelerator), expected.seconds, 1e-9);
  if (problem.accelerator_memory_bytes == 0) {
    EXPECT_EQ(solved->on_accelerator, expected.fewest_on_accelerator);
  }
  double transfers = 0;  // the listed transfers are the ones that are paid
  for (const PlannedTransfer& t : solved->transfers) {
    const auto& value = problem.values[t.value];
    transfers += problem.regions[t.region].frequency *
                 (t.to == kAccelerator ? value.host_to_accelerator_seconds : value.accelerator_to_host_seconds);
  }
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const auto& node = problem.nodes[i];
    const auto seconds = [&](DeviceId side) { return execution_seconds(problem, solved->on_host, solved->on_accelerator, side)[i]; };
    transfers += problem.regions[node.region].frequency *
                 ((solved->on_host[i] ? seconds(kHost) : 0) + (solved->on_accelerator[i] ? seconds(kAccelerator) : 0));
  }
  EXPECT_NEAR(transfers, expected.seconds, 1e-9);
}

TEST(Placement, EqualsExhaustiveSearchWithTies) {
  for (std::uint64_t seed = 0; seed < draws(3000U) && !::testing::Test::HasFailure(); ++seed)
    expect_optimal(testing::random_problem(seed), seed);
}

/// The cut is a lower bound; the placement is optimal in nearly all cases, and never better than the optimum.
TEST(Placement, IsNearlyAlwaysTheBestWhereTheHostDoesNotComeByEverywhere) {
  RandomProblemOptions options;
  options.drivers = true;
  options.max_nodes = 4;
  options.max_regions = 4;
  options.groups = false;
  int best = 0, bounded = 0, all = 0;
  for (std::uint64_t seed = 0; seed < draws(1500U) && !::testing::Test::HasFailure(); ++seed) {
    const Problem problem = testing::random_problem(seed, options);
    if (problem.nodes.size() > 8) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + testing::describe(problem));
    const auto expected = brute_force(problem);
    const Result<Placement> solved = solve(problem);
    ASSERT_EQ(solved.ok(), expected.feasible) << (solved.ok() ? "" : solved.error().message);
    if (!solved.ok()) continue;
    EXPECT_THAT(verify(problem, *solved), IsEmpty());
    EXPECT_NEAR(testing::brute_force_cost(problem, solved->on_host, solved->on_accelerator), solved->objective_seconds, 1e-9);
    EXPECT_LE(solved->bound_seconds, expected.seconds + 1e-9);
    EXPECT_GE(solved->objective_seconds, expected.seconds - 1e-9);
    if (solved->gap == 0) {
      EXPECT_NEAR(solved->objective_seconds, expected.seconds, 1e-9);
    }
    ++all;
    best += solved->objective_seconds <= expected.seconds + 1e-9;
    bounded += solved->gap > 0;
  }
  EXPECT_GT(all, draws(1000));
  EXPECT_GT(bounded, 0);
  EXPECT_GT(best, all * 97 / 100);
}

TEST(Placement, EqualsExhaustiveSearchWithArbitraryCosts) {
  RandomProblemOptions options;
  options.ties = false;
  for (std::uint64_t seed = 0; seed < draws(2000U) && !::testing::Test::HasFailure(); ++seed) {
    expect_optimal(testing::random_problem(seed, options), seed);
  }
}

TEST(Placement, EqualsExhaustiveSearchWithinAMemoryCapacity) {
  RandomProblemOptions options;
  options.memory = true;
  for (std::uint64_t seed = 0; seed < draws(2500U) && !::testing::Test::HasFailure(); ++seed) {
    options.ties = seed % 3 != 0;
    expect_optimal(testing::random_problem(seed, options), seed, {.tolerance = 0});
  }
}

TEST(Placement, EqualsExhaustiveSearchWhereNeighboursSave) {
  RandomProblemOptions options;
  options.savings = true;
  for (std::uint64_t seed = 0; seed < draws(4000U) && !::testing::Test::HasFailure(); ++seed) {
    options.ties = seed % 2 == 0;
    options.memory = seed % 5 == 0;
    expect_optimal(testing::random_problem(seed, options), seed, {.tolerance = 0});
  }
}

TEST(Placement, BoundAndGapUnderACapacityAreHonest) {
  RandomProblemOptions options;
  options.memory = true;
  options.max_nodes = 80;
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    const Problem problem = testing::random_problem(seed, options);
    const auto rough = solve(problem, {.max_branches = 4}), fine = solve(problem, {.tolerance = 0, .max_branches = 3000});
    ASSERT_EQ(rough.ok(), fine.ok()) << "seed " << seed;
    if (!fine.ok()) continue;
    EXPECT_THAT(verify(problem, *rough), IsEmpty()) << "seed " << seed;
    EXPECT_LE(rough->bound_seconds, fine->objective_seconds + 1e-9) << "seed " << seed;
    EXPECT_GE(rough->objective_seconds, fine->bound_seconds - 1e-9) << "seed " << seed;
    EXPECT_NEAR(rough->gap * rough->objective_seconds, rough->objective_seconds - rough->bound_seconds, 1e-9) << "seed " << seed;
  }
}

TEST(Placement, EqualPiecesThatCannotFillTheMemoryAreProvedOptimal) {
  Problem problem;  // 30 equal layers in a chain, memory for 10.9 of them: by price alone the bound counts the 0.9
  problem.regions.emplace_back();
  for (int i = 0; i < 30; ++i) {
    problem.nodes.push_back({0, 33 + 0.01 * i, 1, Problem::Pin::none, false, false, Problem::kNoGroup, 1000});
    problem.values.push_back({i, 0, 2, 2});
    if (i > 0) problem.uses.push_back({i - 1, i, 0});
  }
  problem.accelerator_memory_bytes = 10900;
  const auto solved = solve(problem, {.max_branches = 200});
  ASSERT_TRUE(solved.ok());
  EXPECT_LE(solved->gap, 1e-5);
  EXPECT_EQ(std::count(solved->on_accelerator.begin(), solved->on_accelerator.end(), 1), 10);
}

TEST(Placement, ManyEqualLayersFillTheMemoryWithoutASearch) {
  Problem problem;  // forward and backward through 3000 equal layers: at the price of a byte all of them are worth the same
  problem.regions.emplace_back();
  constexpr int kLayers = 3000;
  for (int i = 0; i < kLayers; ++i) {
    for (const int node : {2 * i, 2 * i + 1}) {
      problem.nodes.push_back({0, 33, 1, Problem::Pin::none, false, false, Problem::kNoGroup, node == 2 * i ? 1000.0 : 0.0});
      problem.values.push_back({node, 0, 2, 2});
    }
    if (i > 0) problem.uses.push_back({2 * i - 2, 2 * i, 0});
    problem.uses.push_back({2 * i, 2 * i + 1, 0});
    if (i + 1 < kLayers) problem.uses.push_back({2 * i + 3, 2 * i + 1, 0});
  }
  problem.accelerator_memory_bytes = 1000 * (0.4 * kLayers) + 300;
  const auto solved = solve(problem, {.tolerance = 1e-3, .max_work = 3e6});
  ASSERT_TRUE(solved.ok());
  EXPECT_LE(solved->gap, 1e-3);
  EXPECT_GT(solved->gap, 0);  // the gap to the bound that the price proves
  EXPECT_THAT(verify(problem, *solved), IsEmpty());
}

TEST(SubsetSum, IsExactWhereSumsAreFewAndABoundElsewhere) {
  EXPECT_EQ(largest_sum_within({}, 10), 0);
  EXPECT_EQ(largest_sum_within({3, 3, 3}, 10), 9);
  EXPECT_EQ(largest_sum_within({3, 3, 3}, 8), 6);
  EXPECT_EQ(largest_sum_within({7, 5, 5, 0}, 11), 10);
  EXPECT_EQ(largest_sum_within({20}, 11), 0);
  EXPECT_EQ(largest_sum_within(std::vector<double>(1000, 3), 1001), 999);
  std::mt19937_64 random(7);
  std::vector<double> many;
  for (int i = 0; i < 200; ++i) many.push_back(static_cast<double>(random() % 1000000));
  EXPECT_LE(largest_sum_within(many, 5e6), 5e6);
  EXPECT_GE(largest_sum_within(many, 5e6), 4.99e6);
}

TEST(Placement, AbsurdMagnitudesNeitherCrashNorCheat) {
  std::mt19937_64 random(3);
  for (std::uint64_t seed = 0; seed < draws(1500U); ++seed) {
    RandomProblemOptions options;
    options.memory = seed % 2 == 0;
    options.max_nodes = 20;
    Problem problem = testing::random_problem(seed, options);
    const auto scaled = [&](double number) { return std::ldexp(number, static_cast<int>(random() % 600) - 300); };
    for (auto& node : problem.nodes) {
      node.host_seconds = scaled(node.host_seconds);
      node.accelerator_seconds = scaled(node.accelerator_seconds);
      if (seed % 4 == 0) node.accelerator_bytes = scaled(node.accelerator_bytes);
    }
    for (auto& value : problem.values) value.host_to_accelerator_seconds = scaled(value.host_to_accelerator_seconds);
    const auto solved = solve(problem, {.max_branches = 300});
    if (!solved.ok()) continue;
    EXPECT_THAT(verify(problem, *solved), IsEmpty()) << "seed " << seed;
    EXPECT_GE(solved->gap, 0) << "seed " << seed;
    EXPECT_LE(solved->gap, 1) << "seed " << seed;
    EXPECT_LE(solved->bound_seconds, solved->objective_seconds) << "seed " << seed;
  }
}

TEST(Placement, SaysSoWhenNothingFits) {
  Problem problem;
  problem.regions.emplace_back();
  problem.nodes.resize(2);
  problem.nodes[0].pin = Problem::Pin::accelerator;
  problem.nodes[0].accelerator_bytes = 2048;
  problem.accelerator_memory_bytes = 1024;
  EXPECT_EQ(solve(problem).error().message, "what must be on the accelerator needs 2.0 KiB of its memory, which has 1.0 KiB");
}

TEST(Placement, IsTheSameForEveryNumbering) {
  RandomProblemOptions options;
  options.max_nodes = 40;
  options.max_regions = 9;
  for (std::uint64_t seed = 0; seed < draws(400U) && !::testing::Test::HasFailure(); ++seed) {
    options.ties = seed % 2 == 0;
    options.savings = seed % 4 >= 2;
    const Problem problem = testing::random_problem(seed, options);
    std::vector<std::int32_t> node_at, value_at;
    const Problem other = testing::permuted(problem, seed, node_at, value_at);
    const auto a = solve(problem), b = solve(other);
    ASSERT_TRUE(a.ok() && b.ok());
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      ASSERT_EQ(a->on_host[i], b->on_host[node_at[i]]) << "seed " << seed << " node " << i;
      ASSERT_EQ(a->on_accelerator[i], b->on_accelerator[node_at[i]]) << "seed " << seed << " node " << i;
    }
    std::vector<PlannedTransfer> moved = a->transfers;
    for (auto& t : moved) t.value = value_at[t.value];
    EXPECT_THAT(moved, ::testing::UnorderedElementsAreArray(b->transfers)) << "seed " << seed;
  }
}

TEST(Placement, IsTheSameFromBothSolvers) {
  RandomProblemOptions options;
  options.max_nodes = 120;
  options.max_regions = 12;
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    options.ties = seed % 2 == 0;
    options.savings = seed % 4 >= 2;
    const Problem problem = testing::random_problem(seed, options);
    const auto ours = solve(problem, {.solver = Solver::flat}), boost = solve(problem, {.solver = Solver::boost});
    ASSERT_TRUE(ours.ok() && boost.ok());
    EXPECT_EQ(ours->bound_seconds, boost->bound_seconds) << "seed " << seed;
    EXPECT_EQ(ours->on_host, boost->on_host) << "seed " << seed;
    EXPECT_EQ(ours->on_accelerator, boost->on_accelerator) << "seed " << seed;
    EXPECT_EQ(ours->transfers, boost->transfers) << "seed " << seed;
  }
}

TEST(Placement, IsTheSameWithoutReductions) {
  for (std::uint64_t seed = 0; seed < draws(3000U); ++seed) {
    RandomProblemOptions options;
    options.max_nodes = seed % 2 == 0 ? 12 : 100;
    options.max_regions = seed % 5 == 0 ? 1 : 8;
    options.ties = seed % 3 != 0;
    options.savings = seed % 4 >= 2;
    const Problem problem = testing::random_problem(seed, options);
    const auto reduced = solve(problem), whole = solve(problem, {.reduce = false});
    ASSERT_TRUE(reduced.ok() && whole.ok());
    EXPECT_NEAR(reduced->bound_seconds, whole->bound_seconds, 1e-12 * whole->bound_seconds) << "seed " << seed;
    EXPECT_EQ(reduced->on_host, whole->on_host) << "seed " << seed;
    EXPECT_EQ(reduced->on_accelerator, whole->on_accelerator) << "seed " << seed;
    EXPECT_EQ(reduced->transfers, whole->transfers) << "seed " << seed;
  }
}

TEST(Placement, ReplicasThatNothingReadsAreDropped) {
  for (std::uint64_t seed = 0; seed < draws(1500U); ++seed) {
    RandomProblemOptions options;
    options.groups = false;
    options.max_nodes = 12;
    const Problem problem = testing::random_problem(seed, options);
    const auto solved = solve(problem);
    ASSERT_TRUE(solved.ok());
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      if (!solved->on_host[i] || !solved->on_accelerator[i]) continue;
      bool read_on_host = false, read_on_accelerator = problem.nodes[i].keep_accelerator_copy;
      for (const auto& use : problem.uses) {
        if (problem.values[use.value].node != static_cast<std::int32_t>(i)) continue;
        read_on_host |= solved->on_host[use.node] != 0;
        read_on_accelerator |= solved->on_accelerator[use.node] != 0;
      }
      EXPECT_TRUE(read_on_host && read_on_accelerator) << "seed " << seed << " node " << i;
    }
  }
}

/// A root region and a loop body that is executed 10 times.
Problem with_loop() {
  Problem problem;
  problem.regions = {{Problem::kNoParent, 1}, {0, 10}};
  return problem;
}

Problem::Node region_node(int region, double host, double accelerator, Problem::Pin pin = Problem::Pin::none) {
  Problem::Node result;
  result.region = region;
  result.host_seconds = host;
  result.accelerator_seconds = accelerator;
  result.pin = pin;
  return result;
}

TEST(Placement, SendsALoopInvariantOperandOnceOutsideTheLoop) {
  Problem problem = with_loop();
  problem.nodes = {region_node(0, 0, 0, Problem::Pin::host), region_node(1, 5, 1)};
  problem.values = {{0, 0, 3, 3}};
  problem.uses = {{0, 1, 1}, {0, 1, 1}};
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_THAT(solved->on_accelerator, ElementsAre(0, 1));
  EXPECT_THAT(solved->transfers, ElementsAre(PlannedTransfer{0, kHost, kAccelerator, 0}));
  EXPECT_DOUBLE_EQ(solved->objective_seconds, 13);
  EXPECT_DOUBLE_EQ(solved->bound_seconds, 13);
  EXPECT_EQ(solved->gap, 0);
}

TEST(Placement, SendsAValuePrintedNowAndThenInsideTheBranch) {
  Problem problem;
  problem.regions = {{Problem::kNoParent, 1}, {0, 1000}, {1, 10}};
  problem.nodes = {region_node(1, 5, 1), region_node(2, 1, 0, Problem::Pin::host)};
  problem.values = {{0, 1, 2, 2}};
  problem.uses = {{0, 1, 2}};
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_THAT(solved->on_host, ElementsAre(0, 1));
  EXPECT_THAT(solved->transfers, ElementsAre(PlannedTransfer{0, kAccelerator, kHost, 2}));
}

TEST(Placement, TiesGoToTheOutermostRegionAndToTheHost) {
  Problem problem;
  problem.regions = {{Problem::kNoParent, 1}, {0, 0.3}, {0, 0.7}};  // two branches of one conditional
  problem.nodes = {region_node(0, 0, 0, Problem::Pin::accelerator), region_node(1, 0, 0, Problem::Pin::host),
                   region_node(2, 0, 0, Problem::Pin::host), region_node(0, 4, 4)};
  problem.values = {{0, 0, 1, 1}};
  problem.uses = {{0, 1, 1}, {0, 2, 2}};
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_THAT(solved->transfers, ElementsAre(PlannedTransfer{0, kAccelerator, kHost, 0}));
  EXPECT_THAT(solved->on_accelerator, ElementsAre(1, 0, 0, 0));
}

TEST(Placement, ComputesACounterOnBothSidesInsteadOfMovingIt) {
  Problem problem = with_loop();
  problem.nodes = {region_node(1, 0, 0), region_node(1, 1, 1), region_node(1, 9, 9, Problem::Pin::host),
                   region_node(1, 9, 9, Problem::Pin::accelerator)};
  problem.nodes[0].replicable = problem.nodes[1].replicable = true;
  problem.values = {{0, 1, 2, 2}, {1, 1, 2, 2}};
  problem.uses = {{0, 1, 1}, {1, 2, 1}, {1, 3, 1}};
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_THAT(solved->on_host, ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(solved->on_accelerator, ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(solved->transfers, IsEmpty());
}

/// Three operations that are fused on the accelerator: alone, each is cheaper on the host.
Problem with_a_row() {
  Problem problem = with_loop();
  problem.nodes = {region_node(0, 0, 0, Problem::Pin::accelerator), region_node(0, 3, 4), region_node(0, 3, 4), region_node(0, 3, 4)};
  for (int i = 0; i < 4; ++i) problem.values.push_back({i, 0, 0.5, 0.5});
  for (int i = 0; i < 3; ++i) problem.uses.push_back({i, i + 1, 0});
  problem.savings = {{2, {1}, false, 0, 2.5}, {3, {2}, false, 0, 2.5}};
  return problem;
}

TEST(Placement, NeighboursThatSaveStayTogether) {
  Problem problem = with_a_row();
  const auto whole = solve(problem);
  ASSERT_TRUE(whole.ok());
  EXPECT_THAT(whole->on_accelerator, ElementsAre(1, 1, 1, 1));
  EXPECT_DOUBLE_EQ(whole->objective_seconds, 7);
  EXPECT_THAT(execution_seconds(problem, whole->on_host, whole->on_accelerator, kAccelerator), ElementsAre(0, 4, 1.5, 1.5));
  problem.nodes[3].pin = Problem::Pin::host;  // the remaining members of the row save their part
  const auto part = solve(problem);
  ASSERT_TRUE(part.ok());
  EXPECT_THAT(part->on_accelerator, ElementsAre(1, 1, 1, 0));
  EXPECT_DOUBLE_EQ(part->objective_seconds, 9);
  problem.nodes[2].pin = Problem::Pin::host;  // and nothing if no member has a neighbor
  const auto none = solve(problem);
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->on_accelerator, ElementsAre(1, 0, 0, 0));
  EXPECT_DOUBLE_EQ(none->objective_seconds, 9.5);
}

TEST(Placement, PinsThatContradictEachOtherNameTheirChain) {
  Problem problem = with_loop();
  problem.nodes = {region_node(0, 1, 1, Problem::Pin::accelerator), region_node(0, 1, 1), region_node(0, 1, 1, Problem::Pin::host)};
  for (auto& n : problem.nodes) n.group = 4;
  problem.names = {"encode", "middle", "show"};
  const auto solved = solve(problem);
  ASSERT_FALSE(solved.ok());
  EXPECT_EQ(solved.error().message, "`show` is pinned to the host; it is in group 4 with `encode`, which is pinned to the accelerator");
  problem.nodes[0].pin = Problem::Pin::none;
  problem.nodes[2].keep_accelerator_copy = true;
  EXPECT_THAT(solve(problem).error().message, HasSubstr("`show` is pinned to the host, yet must have a copy on the accelerator"));
}

TEST(Placement, EmptyAndCostFreeProblems) {
  Problem problem = with_loop();
  EXPECT_EQ(solve(problem)->objective_seconds, 0);
  problem.nodes = {region_node(0, 0, 0), region_node(1, 0, 0)};
  problem.nodes[0].replicable = true;
  const auto solved = solve(problem);
  EXPECT_THAT(solved->on_host, ElementsAre(1, 1));
  EXPECT_THAT(solved->on_accelerator, ElementsAre(0, 0));
  EXPECT_EQ(solved->gap, 0);
}

TEST(Placement, CostsOfVeryDifferentSizeKeepTheirOrder) {
  Problem problem = with_loop();
  problem.nodes = {region_node(0, 1e9, 1e9, Problem::Pin::host), region_node(0, 2e-300, 1e-300), region_node(0, 0, 1e-12)};
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_THAT(solved->on_host, ElementsAre(1, 1, 1));  // 2e-300 and 1e-300 are the same unit: a tie
  problem.nodes[1] = region_node(0, 2e-9, 1e-9);
  EXPECT_THAT(solve(problem)->on_accelerator, ElementsAre(0, 1, 0));
}

TEST(Placement, HundredThousandNodesDeep) {
  Problem problem;
  const int depth = 100000;
  problem.regions.push_back({});
  for (int i = 1; i < depth; ++i) problem.regions.push_back({i - 1, 1});
  for (int i = 0; i < depth; ++i) {
    problem.nodes.push_back(region_node(i, 3, 1, i == 0 ? Problem::Pin::host : Problem::Pin::none));
    problem.values.push_back({i, i, 1, 1});
    if (i > 0) problem.uses.push_back({i - 1, i, i});
  }
  problem.uses.push_back({0, depth - 1, depth - 1});
  const auto solved = solve(problem);
  ASSERT_TRUE(solved.ok());
  EXPECT_DOUBLE_EQ(solved->objective_seconds, 3 + 1 + depth - 1);
}

TEST(Problem, EveryBrokenRuleIsNamed) {
  Problem good = with_loop();
  good.nodes = {region_node(0, 1, 1), region_node(1, 1, 1)};
  good.values = {{0, 0, 1, 1}, {1, 1, 1, 1}};
  good.uses = {{0, 1, 1}};
  ASSERT_TRUE(verify(good).ok());
  const std::vector<std::pair<void (*)(Problem&), const char*>> cases = {
      {[](Problem& p) { p.regions.clear(); }, "regions must hold at least the root"},
      {[](Problem& p) { p.regions[0].parent = 0; }, "regions[0].parent"},
      {[](Problem& p) { p.regions[1].parent = 1; }, "regions[1].parent"},
      {[](Problem& p) { p.regions[1].frequency = -1; }, "regions[1].frequency"},
      {[](Problem& p) { p.nodes[1].region = 2; }, "nodes[1].region is 2, but there are 2 regions"},
      {[](Problem& p) { p.nodes[1].host_seconds = NAN; }, "nodes[1].host_seconds"},
      {[](Problem& p) { p.nodes[0].accelerator_seconds = INFINITY; }, "nodes[0].accelerator_seconds"},
      {[](Problem& p) { p.nodes[0].accelerator_bytes = -1; }, "nodes[0].accelerator_bytes"},
      {[](Problem& p) { p.nodes[0].group = -2; }, "nodes[0].group"},
      {[](Problem& p) { p.values[1].node = 7; }, "values[1].node"},
      {[](Problem& p) { p.values[1].region = -1; }, "values[1].region"},
      {[](Problem& p) { p.values[1].host_to_accelerator_seconds = -0.5; }, "values[1].host_to_accelerator_seconds"},
      {[](Problem& p) { p.values[1].accelerator_to_host_seconds = NAN; }, "values[1].accelerator_to_host_seconds"},
      {[](Problem& p) { p.uses[0].value = 2; }, "uses[0].value"},
      {[](Problem& p) { p.uses[0].node = -1; }, "uses[0].node"},
      {[](Problem& p) { p.uses[0].region = 2; }, "uses[0].region"},
      {[](Problem& p) {
         p.uses[0] = {1, 0, 0};
       },
       "uses[0].region does not see value 1, which lives neither"},
      {[](Problem& p) {
         p.savings = {{2, {0}, false, 0, 0}};
       },
       "savings[0].node is 2, but there are 2 nodes"},
      {[](Problem& p) {
         p.savings = {{0, {}, false, 0, 0}};
       },
       "savings[0].with must name a node"},
      {[](Problem& p) {
         p.savings = {{0, {1, -1}, false, 0, 0}};
       },
       "savings[0].with is -1"},
      {[](Problem& p) {
         p.savings = {{0, {1}, false, NAN, 0}};
       },
       "savings[0].host_seconds must be a finite number"},
      {[](Problem& p) {
         p.savings = {{0, {1}, false, 0.75, 0}, {0, {1}, true, 0.75, 0}};
       },
       "savings[1].host_seconds saves more of node 0 than it costs"},
      {[](Problem& p) { p.accelerator_memory_bytes = -1; }, "accelerator_memory_bytes"},
      {[](Problem& p) { p.accelerator_memory_bytes = 0.5; }, "accelerator_memory_bytes must be 0 (no limit) or at least 1"},
      {[](Problem& p) { p.nodes[0].accelerator_bytes = p.nodes[1].accelerator_bytes = 1e308; }, "the accelerator_bytes add up"},
      {[](Problem& p) { p.names = {"a"}; }, "names"},
      {[](Problem& p) { p.nodes[0].host_seconds = p.regions[0].frequency = 1e200; }, "add up to more than"},
  };
  for (const auto& [spoil, message] : cases) {
    Problem problem = good;
    spoil(problem);
    const Status status = verify(problem);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.error().message, HasSubstr(message));
    EXPECT_FALSE(solve(problem).ok());
  }
}

}  // namespace
}  // namespace cleave::testing
