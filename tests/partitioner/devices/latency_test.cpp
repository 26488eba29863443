// Placements for the time of one run: the rule against its definition, small problems against all assignments, public workloads against
// the greedy filling that their authors compare with.
#include "partitioner/devices/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>

#include "partitioner/devices/devices_json.h"
#include "partitioner/devices/latency_rule.h"
#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/random_devices.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace planner;

/// The time of one run by its definition, for problems of one region: pieces by the longest alternation along all paths, then their times
/// by recursion. Infinite where pieces wait for each other.
class LatencyByDefinition {
 public:
  LatencyByDefinition(const DeviceProblem& problem, std::vector<std::size_t> device_of)
      : problem_(problem), device_of_(std::move(device_of)) {}

  double seconds() {
    double last = 0;
    for (std::size_t i = 0; i < device_of_.size(); ++i) last = std::max(last, done(piece_of(i)));
    return last;
  }

 private:
  /// A device and the number of its piece; on the host a node is its own piece.
  using Piece = std::pair<std::size_t, std::size_t>;

  [[nodiscard]] bool reads(std::size_t node, std::size_t value) const {
    for (const auto& use : problem_.base.uses)
      if (use.node == static_cast<std::int32_t>(node) && use.value == static_cast<std::int32_t>(value)) return true;
    return false;
  }
  [[nodiscard]] std::size_t producer(std::size_t value) const { return static_cast<std::size_t>(problem_.base.values[value].node); }

  std::size_t entries(std::size_t node, std::size_t device) {
    std::size_t most = device_of_[node] == device ? 1 : 0;
    for (std::size_t v = 0; v < problem_.base.values.size(); ++v) {
      if (!reads(node, v) || producer(v) == node) continue;
      const bool enters = device_of_[node] == device && device_of_[producer(v)] != device;
      most = std::max(most, entries(producer(v), device) + (enters ? 1 : 0));
    }
    return most;
  }
  Piece piece_of(std::size_t node) { return {device_of_[node], device_of_[node] == 0 ? node : entries(node, device_of_[node])}; }
  double done(const Piece& piece) {
    const auto [known, added] = done_.try_emplace(piece, INFINITY);  // infinite while it is under way: a circle
    if (!added) return known->second;
    const std::size_t device = piece.first;
    double start = device > 0 && piece.second > 1 ? done({device, piece.second - 1}) : 0, seconds = 0;
    for (std::size_t i = 0; i < device_of_.size(); ++i)
      if (piece_of(i) == piece) seconds += problem_.seconds(i, device);
    for (std::size_t v = 0; v < problem_.base.values.size(); ++v) {
      const bool inside = piece_of(producer(v)) == piece;
      bool enters = false, leaves = false;
      for (std::size_t i = 0; i < device_of_.size(); ++i) {
        if (!reads(i, v)) continue;
        const bool reader_inside = piece_of(i) == piece;
        enters = enters || (reader_inside && !inside);
        leaves = leaves || (!reader_inside && inside);
      }
      if (enters) start = std::max(start, done(piece_of(producer(v))));
      if (enters && device > 0) seconds += problem_.from_host_seconds(v, device);
      if (leaves && device > 0) seconds += problem_.to_host_seconds(v, device);
    }
    return done_[piece] = start + seconds;
  }

  const DeviceProblem& problem_;
  std::vector<std::size_t> device_of_;
  std::map<Piece, double> done_;
};

TEST(Latency, OfSmallProblemsIsTheBestOfAllAssignments) {
  int problems = 0, optimal = 0, proved = 0;
  for (std::uint64_t seed = 0; seed < draws(150U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const DeviceProblem problem =
        random_devices(seed, {.nodes = 6, .accelerators = 2, .max_regions = 1, .unlike = seed % 2 == 0, .memory = seed % 3 == 0});
    const auto placed = place_by_latency(problem, {.moves = 3e5});
    const auto classes = device_classes(problem);
    if (!placed || !classes) continue;
    EXPECT_THAT(verify(problem, *placed), IsEmpty());
    std::vector<std::size_t> device_of;
    for (const DeviceSet set : placed->on) device_of.push_back(set.lowest());
    EXPECT_NEAR(placed->objective_seconds, LatencyByDefinition(problem, device_of).seconds(), 1e-9 * (1 + placed->objective_seconds));
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
      least = std::min(least, LatencyByDefinition(problem, device_of).seconds());
    };
    choose(choose, 0);
    ++problems;
    EXPECT_GE(placed->objective_seconds, least * (1 - 1e-9) - 1e-12);
    EXPECT_LE(placed->bound_seconds, least * (1 + 1e-9) + 1e-12);
    optimal += placed->objective_seconds <= least * (1 + 1e-9) + 1e-12;
    proved += placed->gap == 0;
  }
  std::printf("%d problems, %d optimal, %d proved\n", problems, optimal, proved);
  EXPECT_GE(optimal, problems * 95 / 100);
}

/// Every assignment has the time of the definition, also those in which pieces wait for each other.
TEST(Latency, FollowsItsRule) {
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    const DeviceProblem problem = random_devices(seed, {.nodes = 8, .accelerators = 3, .max_regions = 1, .unlike = true});
    const auto classes = device_classes(problem);
    if (!classes) continue;
    const auto graph = latency_graph(problem, *classes, UsesByValue(problem.base));
    if (!graph) continue;
    LatencyEvaluator evaluator(*graph);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5; ++i) {
      std::vector<std::int32_t> of_class;
      for (const DeviceSet allowed : classes->allowed) {
        std::size_t device = random() % graph->devices;
        if (!allowed.has(device)) device = allowed.lowest();
        of_class.push_back(static_cast<std::int32_t>(device));
      }
      std::vector<std::size_t> device_of;
      for (const std::int32_t c : classes->class_of) device_of.push_back(static_cast<std::size_t>(of_class[c]));
      const double expected = LatencyByDefinition(problem, device_of).seconds(), actual = evaluator.seconds(of_class);
      if (std::isinf(expected)) {
        ASSERT_TRUE(std::isinf(actual)) << "seed " << seed;
      } else {
        ASSERT_NEAR(actual, expected, 1e-9 * (1 + expected)) << "seed " << seed;
      }
    }
  }
}

PlacedDevices place_latency_workload(const std::string& file, std::size_t accelerators, double moves) {
  const auto text = run_command((file.ends_with(".gz") ? "gzip -dc " : "cat ") + file, source_dir() + "/tests/data/device_placement");
  auto problem = device_problem(*parse_problem(text.out, ProblemFormat::device_placement), accelerators);
  EXPECT_TRUE(problem.ok());
  const auto placed = place_by_latency(*problem, {.moves = moves});
  EXPECT_TRUE(placed.ok());
  EXPECT_THAT(verify(*problem, *placed), IsEmpty());
  return *placed;
}

/// The greedy filling of Tarnawski et al. takes 100.219 s.
TEST(Latency, OfPublicWorkloadsIsNoMoreThanThatOfAGreedyFilling) {
  const PlacedDevices bert = place_latency_workload("latency_layer_bert24_inference.json", 5, 2e6);
  EXPECT_LE(bert.objective_seconds, 100.22);
  EXPECT_GE(bert.bound_seconds, 92.3);
  const PlacedDevices again = place_latency_workload("latency_layer_bert24_inference.json", 5, 2e6);
  EXPECT_EQ(bert.on, again.on) << "equal input gives equal plans";
}

TEST(Latency, NeedsNodesThatDoNotWaitInACircle) {
  DeviceProblem problem;
  problem.base.regions.emplace_back();
  problem.base.nodes.resize(2);
  for (std::int32_t i = 0; i < 2; ++i) problem.base.values.push_back({i, 0, 1, 1});
  problem.base.uses = {{0, 1, 0}, {1, 0, 0}};
  problem.accelerators.resize(2);
  const auto placed = place_by_latency(problem);
  ASSERT_FALSE(placed.ok());
  EXPECT_THAT(placed.error().message, HasSubstr("2 nodes wait for each other in a circle"));
}

}  // namespace
}  // namespace cleave::testing
