// Graph's accessors, frequencies, comparison, and the round trip through a file.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "graph/ops/ops.h"
#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "graph/shared_constants.h"
#include "graph/trace/trace.h"
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

// --- constants that graphs share -------------------------------------------------------------------------------------------------------

Graph with_constant(Array array) {
  return trace("g", {{"x", "f32[]"}}, [&](Tensor x) { return named("y", constant(std::move(array)) + x); });
}
const Array& constant_of(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::constant && node.attributes.get<Array>("value").size() > 1) return node.attributes.get<Array>("value");
  static const Array none;
  return none;
}
Array counted(std::int64_t size, float first = 0) {
  Array array(TensorType{DType::f32, {size}});
  for (std::int64_t i = 0; i < size; ++i) array.mutable_data<float>()[i] = first + static_cast<float>(i);
  return array;
}
std::shared_ptr<const Graph> shared_by(SharedConstants& constants, Array array) {
  Graph graph = with_constant(std::move(array));
  constants.share(graph);
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  constants.use(shared);
  return shared;
}

TEST(SharedConstants, AreOneArrayForAllGraphs) {
  SharedConstants constants;
  const auto first = shared_by(constants, counted(1000)), second = shared_by(constants, counted(1000));
  EXPECT_EQ(constant_of(*first).bytes(), constant_of(*second).bytes());
  EXPECT_EQ(constant_bytes({first.get(), second.get()}), 4000);
  Array changed = counted(1000);
  changed.mutable_data<float>()[999] = 7;
  EXPECT_NE(constant_of(*shared_by(constants, changed)).bytes(), constant_of(*first).bytes());
  EXPECT_EQ(constant_of(*shared_by(constants, changed)).at(999), 7);
  Array other_shape_array(TensorType{DType::f32, {10, 100}});
  std::copy_n(counted(1000).data<float>(), 1000, other_shape_array.mutable_data<float>());
  const auto other_shape = shared_by(constants, std::move(other_shape_array));
  EXPECT_NE(constant_of(*other_shape).bytes(), constant_of(*first).bytes());
}

TEST(SharedConstants, LeaveBorrowedMemoryAlone) {
  SharedConstants constants;
  const auto first = shared_by(constants, counted(1000));
  const Array owned = counted(1000);
  const auto lent = shared_by(constants, Array::borrow(owned.type(), owned.bytes(), [] {}));
  EXPECT_EQ(constant_of(*lent).bytes(), owned.bytes());
}

TEST(SharedConstants, EndWithTheLastGraphThatHasThem) {
  SharedConstants constants;
  bool released = false;
  {
    void* const memory = std::calloc(1000, sizeof(float));
    shared_by(constants, Array::own(TensorType{DType::f32, {1000}}, memory, [&released, memory] {
                std::free(memory);
                released = true;
              }));
  }
  shared_by(constants, counted(500));
  EXPECT_TRUE(released);
}

TEST(SharedConstants, HaveWhatIsDerivedFromThemOnce) {
  SharedConstants constants;
  int made = 0;
  const auto make = [&]() -> std::shared_ptr<void> { return std::make_shared<int>(++made); };
  const int a = 0, b = 0;
  {
    const auto first = constants.derived(&a, "form", 100, make), again = constants.derived(&a, "form", 100, make);
    EXPECT_EQ(first, again);
    EXPECT_EQ(made, 1);
    const auto other = constants.derived(&a, "another", 50, make), elsewhere = constants.derived(&b, "form", 7, make);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(constants.derived_bytes(), 157);
  }
  EXPECT_EQ(constants.derived_bytes(), 0);
  (void)constants.derived(&a, "form", 100, make);
  EXPECT_EQ(made, 4) << "nobody kept it";
  EXPECT_THROW((void)constants.derived(&b, "fails", 1, []() -> std::shared_ptr<void> { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(*std::static_pointer_cast<int>(constants.derived(&b, "fails", 1, make)), 5);
}

}  // namespace
}  // namespace cleave
