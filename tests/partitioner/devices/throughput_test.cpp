// Placements for throughput: loads against their definition, small problems against all assignments, public workloads against the best
// values that other planners reach.
#include "partitioner/devices/throughput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "partitioner/devices/devices_json.h"
#include "partitioner/devices/load_graph.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/random_devices.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;
using namespace planner;

/// The load of the busiest device by its definition, for problems of one region.
double load_by_definition(const DeviceProblem& problem, const std::vector<std::size_t>& device_of) {
  std::vector<double> loads(problem.devices());
  for (std::size_t i = 0; i < device_of.size(); ++i) loads[device_of[i]] += problem.seconds(i, device_of[i]);
  for (std::size_t v = 0; v < problem.base.values.size(); ++v) {
    const std::size_t home = device_of[problem.base.values[v].node];
    std::vector<std::uint8_t> reads(problem.devices());
    for (const auto& use : problem.base.uses)
      if (use.value == static_cast<std::int32_t>(v)) reads[device_of[use.node]] = 1;
    bool leaves = false;
    for (std::size_t d = 0; d < problem.devices(); ++d) {
      if (d == home || !reads[d]) continue;
      leaves = true;
      if (d > 0) loads[d] += problem.from_host_seconds(v, d);
    }
    if (leaves && home > 0) loads[home] += problem.to_host_seconds(v, home);
  }
  return *std::max_element(loads.begin(), loads.end());
}

TEST(Throughput, OfSmallProblemsIsTheBestOfAllAssignments) {
  int problems = 0, optimal = 0, proved = 0;
  for (std::uint64_t seed = 0; seed < draws(400U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const DeviceProblem problem =
        random_devices(seed, {.nodes = 7, .accelerators = 2, .max_regions = 1, .unlike = seed % 2 == 0, .memory = seed % 5 == 0});
    const auto placed = place_by_throughput(problem, {.moves = 2e5});
    const auto classes = device_classes(problem);
    if (!placed || !classes) continue;
    EXPECT_THAT(verify(problem, *placed), IsEmpty());
    std::vector<std::size_t> device_of;
    for (const DeviceSet set : placed->on) device_of.push_back(set.lowest());
    EXPECT_NEAR(placed->objective_seconds, load_by_definition(problem, device_of), 1e-9 * (1 + placed->objective_seconds));
    double least = INFINITY;
    std::vector<DeviceSet> on(classes->size());
    const auto choose = [&](const auto& self, std::size_t c) -> void {
      if (c < on.size()) {
        for_each_device(classes->allowed[c], [&](std::size_t device) {
          on[c] = DeviceSet::only(device);
          self(self, c + 1);
        });
        return;
      }
      if (!fits(problem, *classes, on)) return;
      for (std::size_t i = 0; i < device_of.size(); ++i) device_of[i] = on[classes->class_of[i]].lowest();
      least = std::min(least, load_by_definition(problem, device_of));
    };
    choose(choose, 0);
    ++problems;
    EXPECT_GE(placed->objective_seconds, least * (1 - 1e-9) - 1e-12);
    EXPECT_LE(placed->bound_seconds, least * (1 + 1e-9) + 1e-12);
    optimal += placed->objective_seconds <= least * (1 + 1e-9) + 1e-12;
    proved += placed->gap == 0;
  }
  std::printf("%d problems, %d optimal, %d proved\n", problems, optimal, proved);
  EXPECT_GE(optimal, problems * 97 / 100);
  EXPECT_GT(proved, problems / 3);
}

/// Loads after moves are those of a state that is made anew.
TEST(Throughput, LoadsFollowEveryMove) {
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.nodes = 8, .max_regions = 3});
    const auto classes = device_classes(problem);
    if (!classes) continue;
    const LoadGraph graph = load_graph(problem, *classes, UsesByValue(problem.base));
    std::mt19937_64 random(seed);
    std::vector<std::int32_t> device_of;
    for (const DeviceSet allowed : classes->allowed) device_of.push_back(static_cast<std::int32_t>(allowed.lowest()));
    LoadState state(graph, device_of);
    for (int i = 0; i < 50; ++i) {
      const std::size_t group = random() % classes->size();
      const std::size_t to = random() % graph.devices;
      if (!classes->allowed[group].has(to)) continue;
      state.move(static_cast<std::int32_t>(group), static_cast<std::int32_t>(to));
      const LoadState anew(graph, state.device_of());
      for (std::size_t d = 0; d < graph.devices; ++d)
        ASSERT_NEAR(state.loads()[d], anew.loads()[d], 1e-9 * (1 + anew.loads()[d])) << "seed " << seed;
    }
  }
}

PlacedDevices place_workload(const std::string& file, std::size_t accelerators, const ThroughputSearch& options) {
  const auto text = run_command((file.ends_with(".gz") ? "gzip -dc " : "cat ") + file, source_dir() + "/tests/data/device_placement");
  auto problem = device_problem(*parse_problem(text.out, ProblemFormat::device_placement), accelerators);
  EXPECT_TRUE(problem.ok());
  const auto placed = place_by_throughput(*problem, options);
  EXPECT_TRUE(placed.ok());
  EXPECT_THAT(verify(*problem, *placed), IsEmpty());
  return *placed;
}

/// The best that the dynamic program, the local search and the PipeDream rule of Tarnawski et al. reach within 100 seconds.
TEST(Throughput, OfPublicWorkloadsIsBetterThanOtherPlanners) {
  const PlacedDevices gnmt = place_workload("throughput_layer_gnmt_training.json", 6, {});
  EXPECT_LE(gnmt.objective_seconds, 90.95);
  EXPECT_LE(gnmt.gap, 0.06);
  const PlacedDevices bert = place_workload("throughput_operator_bert_l-6_training.json.gz", 3, {});
  EXPECT_LE(bert.objective_seconds, 75);
  EXPECT_LE(bert.gap, 0.13);
}

TEST(Throughput, IsTheSamePlanEachTime) {
  const PlacedDevices one = place_workload("throughput_layer_gnmt_training.json", 4, {.moves = 1e6});
  const PlacedDevices other = place_workload("throughput_layer_gnmt_training.json", 4, {.moves = 1e6});
  EXPECT_EQ(one.on, other.on);
  EXPECT_EQ(one.transfers, other.transfers);
}

TEST(Throughput, OfContiguousPiecesIsNoBetterThanWithoutThem) {
  const PlacedDevices pieces = place_workload("throughput_layer_gnmt_training.json", 4, {.contiguous = true});
  const PlacedDevices any = place_workload("throughput_layer_gnmt_training.json", 4, {.moves = 1e6});
  EXPECT_GE(pieces.objective_seconds, any.objective_seconds);
}

}  // namespace
}  // namespace cleave::testing
