// Graph's accessors, frequencies, comparison, and the round trip through a file.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "tests/support/graph_builder.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using test::GraphBuilder;
using test::TemporaryFolder;

const TensorType kVector{DType::f32, {2}};
const TensorType kBool{DType::boolean, {}};

TEST(Graph, AnEmptyProgramHasARoot) {
  const Graph graph;
  EXPECT_TRUE(graph.ok());
  ASSERT_EQ(graph.regions.size(), 1u);
  EXPECT_EQ(graph.depth(Graph::kRoot), 0);
  EXPECT_TRUE(graph.within(Graph::kRoot, Graph::kRoot));
}

TEST(Graph, NamesAreTheUsersThenTheFunctionsThenTheOps) {
  GraphBuilder b;
  const ValueId x = b.input("x", kVector);
  const ValueId sum = b.call("add", Graph::kRoot, {x, x}, kVector);
  const NodeId node = b.graph.values[sum].producer;
  EXPECT_EQ(b.graph.op_name(node), "add");
  EXPECT_EQ(b.graph.display_name(node), "add");
  EXPECT_EQ(b.graph.display_name(b.graph.values[x].producer), "x");
  const auto function = std::make_shared<HostFunction>();
  function->name = "simulate";
  b.graph.nodes[node].attributes.set("function", std::shared_ptr<const HostFunction>(function));
  EXPECT_EQ(b.graph.display_name(node), "simulate");
  b.graph.values[sum].name = "total";
  EXPECT_EQ(b.graph.display_name(node), "total");
  const NodeId loop = b.for_loop(Graph::kRoot, 2);
  EXPECT_EQ(b.graph.display_name(loop), "for");
  EXPECT_EQ(b.graph.purity(loop), Purity::pure);
}

struct Nest : GraphBuilder {
  ValueId p = input("p", kBool);
  NodeId outer = for_loop(Graph::kRoot, 10);
  NodeId repeat = while_loop(inside(outer), 4);
  NodeId choice = branch(inside(repeat, 1), p, 0.25);
  NodeId deepest = for_loop(inside(choice, 1), 3);

  Nest() { graph.regions[inside(repeat)].predicate = p; }
};

TEST(Graph, RegionsNest) {
  const Nest nest;
  EXPECT_TRUE(nest.graph.within(nest.inside(nest.deepest), Graph::kRoot));
  EXPECT_TRUE(nest.graph.within(nest.inside(nest.deepest), nest.inside(nest.repeat)));
  EXPECT_FALSE(nest.graph.within(nest.inside(nest.outer), nest.inside(nest.deepest)));
  EXPECT_FALSE(nest.graph.within(nest.inside(nest.choice, 0), nest.inside(nest.choice, 1)));
  EXPECT_EQ(nest.graph.depth(nest.inside(nest.repeat, 0)), 2);
  EXPECT_EQ(nest.graph.depth(nest.inside(nest.repeat, 1)), 3);
  EXPECT_EQ(nest.graph.depth(nest.inside(nest.deepest)), 5);
}

TEST(Graph, FrequenciesAreProductsDownTheTree) {
  const Nest nest;
  ASSERT_TRUE(verify(nest.graph).empty());
  const IdVector<RegionId, double> frequency = region_frequencies(nest.graph);
  EXPECT_EQ(frequency[Graph::kRoot], 1);
  EXPECT_EQ(frequency[nest.inside(nest.outer)], 10);
  EXPECT_EQ(frequency[nest.inside(nest.repeat, 0)], 50);  // trip count + 1
  EXPECT_EQ(frequency[nest.inside(nest.repeat, 1)], 40);  // the trip count, not once for each test of the condition
  EXPECT_EQ(frequency[nest.inside(nest.choice, 0)], 10);
  EXPECT_EQ(frequency[nest.inside(nest.choice, 1)], 30);
  EXPECT_EQ(frequency[nest.inside(nest.deepest)], 90);
}

TEST(Graph, AssumedIsOfTheOwnControlNodeOnly) {
  Nest nest;
  nest.graph.nodes[nest.repeat].assumed = true;
  EXPECT_FALSE(frequency_assumed(nest.graph, Graph::kRoot));
  EXPECT_FALSE(frequency_assumed(nest.graph, nest.inside(nest.outer)));
  EXPECT_TRUE(frequency_assumed(nest.graph, nest.inside(nest.repeat, 0)));
  EXPECT_TRUE(frequency_assumed(nest.graph, nest.inside(nest.repeat, 1)));
  EXPECT_FALSE(frequency_assumed(nest.graph, nest.inside(nest.choice)));
}

// --- same_program ---------------------------------------------------------------------------------------------------------------------

struct Program : GraphBuilder {
  ValueId x, y, sum, more;
  NodeId loop, w;

  /// `swapped`: the same program with other ids.
  explicit Program(bool swapped = false) {
    x = input("x", kVector);
    y = input("y", kVector);
    loop = for_loop(Graph::kRoot, 3);
    w = carried(loop, x);
    if (swapped) {
      more = call("multiply", inside(loop), {y, y}, kVector);
      sum = call("add", inside(loop), {result(w), y}, kVector);
      std::swap(graph.regions[inside(loop)].nodes[1], graph.regions[inside(loop)].nodes[2]);
    } else {
      sum = call("add", inside(loop), {result(w), y}, kVector);
      more = call("multiply", inside(loop), {y, y}, kVector);
    }
    graph.nodes[w].inputs[1] = sum;
    graph.outputs.push_back({"out", result(w, 1), {}});
  }
};

TEST(SameProgram, DoesNotCompareNamesLocationsLimitsNumbering) {
  const Program a;
  Program b(true);
  b.graph.name = "other";
  b.graph.values[b.x].name = "renamed";
  b.graph.nodes[b.loop].location.line = 5;
  b.graph.limits.transfers = 3;
  EXPECT_TRUE(verify(a.graph).empty());
  EXPECT_TRUE(verify(b.graph).empty());
  EXPECT_TRUE(same_program(a.graph, b.graph));
  EXPECT_TRUE(same_program(b.graph, a.graph));
}

TEST(SameProgram, SeesEveryOtherDifference) {
  const auto differs = [](auto&& change) {
    const Program a;
    Program b;
    change(b);
    EXPECT_FALSE(same_program(a.graph, b.graph));
    EXPECT_FALSE(same_program(b.graph, a.graph));
  };
  const auto producer = [](Program& p, ValueId value) -> Node& { return p.graph.nodes[p.graph.values[value].producer]; };
  differs([&](Program& p) { producer(p, p.sum).inputs[1] = p.x; });
  differs([&](Program& p) { std::swap(producer(p, p.sum).inputs[0], producer(p, p.sum).inputs[1]); });
  differs([&](Program& p) { producer(p, p.sum).op = find_op("subtract"); });
  differs([&](Program& p) { producer(p, p.sum).attributes.set("a", true); });
  differs([&](Program& p) { producer(p, p.sum).pin.side = Side::host; });
  differs([&](Program& p) { producer(p, p.sum).allowed.push_back({DiagnosticKind::round_trip, "why"}); });
  differs([](Program& p) { p.graph.nodes[p.w].inputs[1] = p.more; });
  differs([](Program& p) { p.graph.nodes[p.loop].expected = 4; });
  differs([](Program& p) { p.graph.nodes[p.loop].assumed = true; });
  differs([](Program& p) { p.graph.nodes[p.loop].attributes.set("count", std::int64_t{4}); });
  differs([](Program& p) { p.graph.values[p.more].type.shape = {2, 1}; });
  differs([](Program& p) { p.graph.outputs[0].value = p.x; });
  differs([](Program& p) { p.graph.outputs.clear(); });
  differs([](Program& p) { p.call("add", p.inside(p.loop), {p.x, p.x}, kVector); });
  differs([](Program& p) { p.graph.regions[p.inside(p.loop)].predicate = p.x; });
}

// --- files ----------------------------------------------------------------------------------------------------------------------------

TEST(Graph, SavedAndLoadedItIsTheSame) {
  const TemporaryFolder folder;
  const Program program;
  ASSERT_TRUE(program.graph.save(folder.path("p.graph")));
  const Result<Graph> back = Graph::load(folder.path("p.graph"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same_program(program.graph, *back));
  EXPECT_EQ(back->values[back->outputs[0].value].type, kVector);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Graph, ASavedGraphSeesItsFilesFromWhereItLies) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("models/data"));
  Program program;
  const NodeId leaf = program.graph.values[program.x].producer;
  const auto file_of = [&](const Graph& graph) { return graph.nodes[leaf].attributes.get<std::string>("file"); };
  program.graph.nodes[leaf].attributes.set("file", std::filesystem::relative(folder.path("models/data/x.npy")).string());
  ASSERT_TRUE(program.graph.save(folder.path("models/p.graph")));
  const Result<Graph> here = Graph::load(folder.path("models/p.graph"));
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(file_of(*here), folder.path("models/data/x.npy"));
  std::filesystem::rename(folder.path("models"), folder.path("moved"));
  const Result<Graph> moved = Graph::load(folder.path("moved/p.graph"));
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(file_of(*moved), folder.path("moved/data/x.npy"));
  program.graph.nodes[leaf].attributes.set("file", folder.path("x.npy"));  // absolute: stays
  ASSERT_TRUE(program.graph.save(folder.path("moved/p.graph")));
  const Result<Graph> absolute = Graph::load(folder.path("moved/p.graph"));
  ASSERT_TRUE(absolute) << absolute.error().message;
  EXPECT_EQ(file_of(*absolute), folder.path("x.npy"));
}

TEST(Graph, FilesThatCannotBeReadOrWrittenAreErrors) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Graph().save(folder.path("none/p.graph")));
  EXPECT_FALSE(Graph::load(folder.path("none.graph")));
  EXPECT_FALSE(Graph::load(folder.write("bad.graph", "not a graph")));
  EXPECT_FALSE(Graph::load(folder.path("")));
}

}  // namespace
}  // namespace cleave
