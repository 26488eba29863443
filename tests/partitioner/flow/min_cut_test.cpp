// The two solvers against each other and against exhaustive search on random networks, and networks with a known answer.
#include "partitioner/flow/min_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "partitioner/flow/flow_network.h"
#include "partitioner/flow/leaf_folding.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

/// The cost of a given source side.
std::int64_t value_of(const CutNetwork& network, const std::vector<bool>& source_side) {
  std::int64_t value = 0;
  for (std::int32_t v = 0; v < network.vertices(); ++v) value += source_side[v] ? network.sink_capacity[v] : network.source_capacity[v];
  for (const auto& arc : network.arcs) {
    if (source_side[arc.from] && !source_side[arc.to]) value += arc.capacity;
    if (source_side[arc.to] && !source_side[arc.from]) value += arc.reverse_capacity;
  }
  return value;
}

/// Runs with search trees that are kept until the patience is used up, then with levels; with leaves folded or not.
Cut cut_with_patience(const CutNetwork& network, double patience, bool fold = false) {
  FlowNetwork flow = flow_network(network);
  if (patience <= 0 || !push_by_kept_trees(flow, patience)) {
    if (fold) {
      LeafFolding leaves(flow);
      push_by_levels(flow);
      leaves.unfold();
    } else {
      push_by_levels(flow);
    }
  }
  return {flow.flow, flow.largest_source_side()};
}

CutNetwork random_network(std::uint64_t seed, int max_vertices, int density, int capacities) {
  std::mt19937_64 random(seed);
  auto below = [&](int n) { return static_cast<int>(std::uniform_int_distribution<int>(0, n - 1)(random)); };
  auto capacity = [&] { return below(3) == 0 ? 0 : static_cast<std::int64_t>(below(capacities)); };
  CutNetwork network;
  const int vertices = 1 + below(max_vertices);
  for (int v = 0; v < vertices; ++v) {
    network.source_capacity.push_back(below(3) == 0 ? capacity() : 0);
    network.sink_capacity.push_back(below(3) == 0 ? capacity() : 0);
  }
  for (int arcs = vertices < 2 ? 0 : below(density * vertices); arcs > 0; --arcs) {
    const int from = below(vertices), to = below(vertices);
    if (from != to) network.arcs.push_back({from, to, capacity(), below(2) == 0 ? 0 : capacity()});
  }
  return network;
}

TEST(MinCut, EqualsExhaustiveSearchAndIsTheLargestSourceSide) {
  for (std::uint64_t seed = 0; seed < draws(3000U); ++seed) {
    const CutNetwork network = random_network(seed, 9, 3, 6);
    const int count = network.vertices();
    std::int64_t best = std::int64_t{1} << 60;
    std::vector<bool> largest;
    for (unsigned set = 0; set < 1u << count; ++set) {
      std::vector<bool> side(count);
      for (int v = 0; v < count; ++v) side[v] = set >> v & 1;
      const std::int64_t value = value_of(network, side);
      if (value < best) {
        best = value;
        largest = side;
      } else if (value == best) {
        for (int v = 0; v < count; ++v) largest[v] = largest[v] || side[v];
      }
    }
    for (const Solver solver : {Solver::flat, Solver::boost}) {
      const Cut cut = min_cut(network, solver);
      ASSERT_EQ(cut.value, best) << "seed " << seed;
      ASSERT_EQ(cut.source_side, largest) << "seed " << seed;
    }
    for (const double patience : {0.0, 0.5, 2.0}) {
      for (const bool fold : {false, true}) {
        const Cut cut = cut_with_patience(network, patience, fold);
        ASSERT_EQ(cut.value, best) << "seed " << seed << (fold ? " folded" : "");
        ASSERT_EQ(cut.source_side, largest) << "seed " << seed << (fold ? " folded" : "");
      }
    }
  }
}

TEST(MinCut, TheSolversAgreeOnLargerNetworks) {
  for (std::uint64_t seed = 0; seed < draws(600U); ++seed) {
    const CutNetwork network = random_network(seed, 400, 1 + static_cast<int>(seed % 6), seed % 2 ? 20 : 1000000000);
    const Cut ours = min_cut_flat(network), boost = min_cut_boost(network);
    ASSERT_EQ(ours.value, boost.value) << "seed " << seed;
    ASSERT_EQ(ours.source_side, boost.source_side) << "seed " << seed;
    ASSERT_EQ(ours.value, value_of(network, ours.source_side)) << "seed " << seed;
    for (const double patience : {0.0, 1.0, 3.0, 1e6}) {
      const Cut cut = cut_with_patience(network, patience);
      ASSERT_EQ(cut.value, boost.value) << "seed " << seed << " patience " << patience;
      ASSERT_EQ(cut.source_side, boost.source_side) << "seed " << seed << " patience " << patience;
    }
  }
}

TEST(MinCut, LayersAndGridsWithLongPaths) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    auto capacity = [&] { return static_cast<std::int64_t>(random() % 50); };
    CutNetwork network;
    const int width = 5 + static_cast<int>(seed) * 3, length = 150;
    network.source_capacity.assign(width * length, 0);
    network.sink_capacity.assign(width * length, 0);
    for (int y = 0; y < width; ++y) {
      network.source_capacity[y] = capacity() * 4;
      network.sink_capacity[(length - 1) * width + y] = capacity() * 4;
      for (int x = 0; x < length; ++x) {
        if (x > 0) network.arcs.push_back({(x - 1) * width + y, x * width + y, capacity(), capacity()});
        if (y > 0) network.arcs.push_back({x * width + y - 1, x * width + y, capacity(), capacity()});
        if (random() % 9 == 0) network.source_capacity[x * width + y] = capacity();
        if (random() % 9 == 0) network.sink_capacity[x * width + y] = capacity();
      }
    }
    const Cut ours = min_cut_flat(network), boost = min_cut_boost(network);
    ASSERT_EQ(ours.value, boost.value) << "seed " << seed;
    ASSERT_EQ(ours.source_side, boost.source_side) << "seed " << seed;
    for (const double patience : {0.0, 4.0}) {
      const Cut cut = cut_with_patience(network, patience);
      ASSERT_EQ(cut.value, boost.value) << "seed " << seed << " patience " << patience;
      ASSERT_EQ(cut.source_side, boost.source_side) << "seed " << seed << " patience " << patience;
    }
  }
}

TEST(MinCut, TreesWithAFewMoreArcsFoldToWhatIsNoTree) {
  for (std::uint64_t seed = 0; seed < draws(2000U); ++seed) {
    std::mt19937_64 random(seed);
    auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n)); };
    CutNetwork network;
    const int vertices = 2 + below(seed % 2 == 0 ? 12 : 200);
    for (std::int32_t v = 0; v < vertices; ++v) {
      network.source_capacity.push_back(below(3) == 0 ? below(30) : 0);
      network.sink_capacity.push_back(below(3) == 0 ? below(30) : 0);
      if (v > 0 && below(10) > 0) network.arcs.push_back({seed % 3 == 0 ? v - 1 : below(v), v, below(12), below(12)});
    }
    for (int more = below(4); more > 0; --more) {
      const std::int32_t from = below(vertices), to = below(vertices);
      if (from != to) network.arcs.push_back({from, to, below(12), below(12)});
    }
    const Cut boost = min_cut_boost(network);
    for (const double patience : {0.0, 1.0}) {
      const Cut cut = cut_with_patience(network, patience, true);
      ASSERT_EQ(cut.value, boost.value) << "seed " << seed;
      ASSERT_EQ(cut.source_side, boost.source_side) << "seed " << seed;
    }
  }
}

TEST(MinCut, ALongPathTakesLittleTime) {
  CutNetwork network;  // sources in the first half, sinks in the second: every unit of flow has a long path
  constexpr std::int32_t kLength = 400000;
  for (std::int32_t v = 0; v < kLength; ++v) {
    network.source_capacity.push_back(v < kLength / 2 ? 1 : 0);
    network.sink_capacity.push_back(v < kLength / 2 ? 0 : 1);
    if (v > 0) network.arcs.push_back({v - 1, v, kLength, 0});
  }
  EXPECT_EQ(min_cut_flat(network).value, kLength / 2);  // quadratic work would take minutes
}

TEST(MinCut, CapacitiesUpToTheLimit) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 62) - 1;
  CutNetwork network;
  network.source_capacity = {kLarge, 0, 0};
  network.sink_capacity = {0, 0, kLarge};
  network.arcs = {{0, 1, kLarge, kLarge}, {1, 2, kLarge, kLarge}};
  for (const Solver solver : {Solver::flat, Solver::boost}) EXPECT_EQ(min_cut(network, solver).value, kLarge);
}

TEST(MinCut, TiesGoToTheSource) {
  CutNetwork network;
  network.source_capacity = {4, 0, 0, 0};
  network.sink_capacity = {0, 0, 4, 0};
  network.arcs = {{0, 1, 4, 0}, {1, 2, 4, 0}};
  for (const Solver solver : {Solver::flat, Solver::boost}) {
    const Cut cut = min_cut(network, solver);
    EXPECT_EQ(cut.value, 4);
    EXPECT_THAT(cut.source_side, ElementsAre(true, true, true, true));
  }
  EXPECT_EQ(min_cut(CutNetwork{}).value, 0);
}

}  // namespace
}  // namespace cleave::testing
