// verify() reports each rule of graph.h that is broken on purpose in an otherwise valid graph, with that rule's message.
#include "graph/passes/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/graph_builder.h"

namespace cleave {
namespace {

using test::GraphBuilder;
using ::testing::HasSubstr;

const TensorType kVector{DType::f32, {2}};
const TensorType kBool{DType::boolean, {}};
const TensorType kInt{DType::i32, {}};

/// A program with every kind of node and region.
struct Sample : GraphBuilder {
  ValueId x = input("x", kVector);
  ValueId p = input("p", kBool);
  NodeId constant = node(NodeKind::constant, Graph::kRoot, {}, {kInt}, {{"value", Array::scalar<std::int32_t>(7)}});

  NodeId loop = for_loop(Graph::kRoot, 3);
  NodeId counter = node(NodeKind::counter, inside(loop), {}, {kInt});
  NodeId w = carried(loop, x);
  ValueId sum = call("add", inside(loop), {result(w), x}, kVector);
  ValueId stop = call("logical_not", inside(loop), {p}, kBool);

  NodeId runtime = node(NodeKind::for_loop, Graph::kRoot, {result(constant)}, {});
  RegionId runtime_body = region(RegionKind::for_body, Graph::kRoot, runtime);

  NodeId repeat = while_loop(Graph::kRoot, 4);
  NodeId v = carried(repeat, result(w, 1));
  ValueId go_on = call("logical_not", inside(repeat, 0), {p}, kBool);
  ValueId twice = call("add", inside(repeat, 1), {result(v), result(v)}, kVector);

  NodeId choice = branch(Graph::kRoot, p, 0.25);
  ValueId more = call("add", inside(choice, 0), {x, result(v, 1)}, kVector);
  ValueId less = call("subtract", inside(choice, 1), {x, result(v, 1)}, kVector);
  NodeId chosen = merge(choice, more, less);
  ValueId last = call("add", Graph::kRoot, {result(chosen), result(w, 1)}, kVector);

  Sample() {
    graph.nodes[counter].owner = loop;
    graph.nodes[w].inputs[1] = sum;
    graph.nodes[v].inputs[1] = twice;
    graph.regions[inside(loop)].predicate = stop;
    graph.regions[inside(repeat)].predicate = go_on;
    graph.outputs.push_back({"out", last, {}});
  }

  Node& at(NodeId id) { return graph.nodes[id]; }
  Value& at(ValueId id) { return graph.values[id]; }
  Region& at(RegionId id) { return graph.regions[id]; }
  NodeId producer(ValueId id) const { return graph.values[id].producer; }
  std::vector<NodeId>& list(RegionId id) { return graph.regions[id].nodes; }
};

void breaks(const std::function<void(Sample&)>& change, const std::string& sentence) {
  Sample sample;
  change(sample);
  EXPECT_THAT(verify(sample.graph), ::testing::Contains(HasSubstr(sentence)));
}

TEST(Verify, AcceptsWhatIsWellFormed) {
  EXPECT_THAT(verify(Graph()), ::testing::IsEmpty());
  EXPECT_THAT(verify(Sample().graph), ::testing::IsEmpty());
}

TEST(Verify, IdsAreInRange) {
  const auto far = std::size_t{99};
  breaks([&](Sample& s) { s.at(s.w).inputs[0] = ValueId(far); }, "reads value 99 (out of range)");
  breaks([&](Sample& s) { s.at(s.w).inputs[0] = ValueId(); }, "reads no value");
  breaks([&](Sample& s) { s.at(s.w).results[0] = ValueId(far); }, "has the result value 99 (out of range)");
  breaks([&](Sample& s) { s.at(s.w).region = RegionId(far); }, "stands in region 99 (out of range)");
  breaks([&](Sample& s) { s.at(s.w).owner = NodeId(far); }, "belongs to node 99 (out of range)");
  breaks([&](Sample& s) { s.at(s.loop).regions[0] = RegionId(far); }, "holds region 99 (out of range)");
  breaks([&](Sample& s) { s.at(s.x).producer = NodeId(); }, "value 0 (`x`) is produced by no node");
  breaks([&](Sample& s) { s.at(s.x).region = RegionId(); }, "value 0 (`x`) lives in no region");
  breaks([&](Sample& s) { s.at(s.inside(s.loop)).parent = RegionId(); }, "has the parent no region");
  breaks([&](Sample& s) { s.at(s.inside(s.loop)).owner = NodeId(); }, "has the owner no node");
  breaks([&](Sample& s) { s.at(s.inside(s.loop)).predicate = ValueId(far); }, "has the predicate value 99 (out of range)");
  breaks([&](Sample& s) { s.list(Graph::kRoot)[0] = NodeId(far); }, "region 0 (root) lists node 99 (out of range)");
  breaks([&](Sample& s) { s.graph.outputs[0].value = ValueId(); }, "the output `out` is no value");
  breaks([&](Sample& s) { s.graph.regions = {}; }, "the graph has no root region");
}

TEST(Verify, RegionsAreATreeInOrder) {
  breaks([](Sample& s) { s.at(Graph::kRoot).kind = RegionKind::then_arm; }, "region 0 must be the root");
  breaks([](Sample& s) { s.at(Graph::kRoot).parent = Graph::kRoot; }, "region 0 must be the root");
  breaks([](Sample& s) { s.at(s.runtime_body).kind = RegionKind::root; }, "is a second root");
  breaks([](Sample& s) { s.at(s.runtime_body).parent = s.inside(s.repeat); }, "stands before its parent");
  breaks([](Sample& s) { s.at(s.runtime_body).parent = s.inside(s.loop); }, "must have the parent region 0 (root), not region 1 (for)");
  breaks([](Sample& s) { s.at(s.runtime_body).owner = s.loop; }, "is not among the regions of its owner");
  breaks([](Sample& s) { s.at(s.runtime_body).owner = s.loop; }, "but owned by");
  breaks([](Sample& s) { s.at(s.runtime_body).kind = RegionKind::then_arm; }, "must be a region of kind \"for\"");
  breaks([](Sample& s) { s.at(s.runtime).regions.clear(); }, "must hold 1 regions, not 0");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).regions = {s.runtime_body}; }, "must hold 0 regions, not 1");
  breaks([](Sample& s) { s.at(s.inside(s.repeat, 1)).parent = Graph::kRoot; },
         "must have the parent region 3 (condition), not region 0 (root)");
  breaks([](Sample& s) { std::swap(s.at(s.choice).regions[0], s.at(s.choice).regions[1]); }, "must be a region of kind \"then\"");
}

TEST(Verify, InputsAndOutputsAreToldApart) {
  breaks([](Sample& s) { s.graph.outputs.push_back({"out", s.x, {}}); }, "a second output is named `out`");
  breaks([](Sample& s) { s.at(s.p).name = "x"; }, "is the second input or parameter named `x`");
  breaks([](Sample& s) { s.at(s.p).name.clear(); }, "has no name");
  breaks([](Sample& s) { s.graph.values[s.result(s.node(NodeKind::input, s.inside(s.loop), {}, {kInt}))].name = "n"; },
         "must stand in the root region, not in a loop or branch");
}

TEST(Verify, PinsDoNotContradict) {
  breaks([](Sample& s) { s.at(s.loop).pin.side = Side::host; }, "is no operation but has a pin");
  breaks(
      [](Sample& s) {
        const ValueId moved = s.call("to_host", Graph::kRoot, {s.x}, kVector);
        s.at(s.producer(moved)).pin.side = Side::accelerator;
      },
      "is pinned to the side that it moves its operand away from");
}

TEST(Verify, SaysWhereInTheProgram) {
  Sample sample;
  sample.at(sample.loop).pin.side = Side::host;
  sample.graph.outputs.push_back({"out", sample.x, {}});
  const std::vector<Finding> findings = find_broken_rules(sample.graph);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].node, sample.loop);
  EXPECT_EQ(findings[1].output, 1);
}

TEST(Verify, EveryNodeStandsInOneRegion) {
  breaks([](Sample& s) { s.list(Graph::kRoot).pop_back(); }, "is in no region's list");
  breaks([](Sample& s) { s.list(Graph::kRoot).push_back(s.constant); }, "is listed twice");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).region = Graph::kRoot; }, "which stands in region 0 (root)");
}

TEST(Verify, EveryValueHasOneProducer) {
  breaks([](Sample& s) { s.at(s.sum).result = 1; }, "is not result 1 of its producer");
  breaks([](Sample& s) { s.at(s.sum).producer = s.constant; }, "is not result 0 of its producer");
  breaks([](Sample& s) { s.at(s.constant).results.push_back(s.sum); }, "is also a result of node 2 (`constant`)");
  breaks([](Sample& s) { s.at(s.sum).region = Graph::kRoot; }, "must live in region 1 (for), not in region 0 (root)");
  breaks([](Sample& s) { s.at(s.result(s.w, 1)).region = s.inside(s.loop); }, "must live in region 0 (root), not in region 1 (for)");
}

TEST(Verify, OwnersFit) {
  breaks([](Sample& s) { s.at(s.constant).owner = s.loop; }, "must not have an owner");
  breaks([](Sample& s) { s.at(s.w).owner = NodeId(); }, "cannot belong to no node");
  breaks([](Sample& s) { s.at(s.chosen).owner = s.loop; }, "cannot belong to node");
  breaks([](Sample& s) { s.at(s.counter).owner = s.repeat; }, "cannot belong to node");
  breaks([](Sample& s) { s.at(s.counter).owner = s.runtime; }, "must stand in region 2 (for), not in region 1 (for)");
}

TEST(Verify, OperationsKeepTheirRules) {
  breaks([](Sample& s) { s.at(s.producer(s.sum)).op = nullptr; }, "is an operation without an op");
  breaks([](Sample& s) { s.at(s.constant).op = find_op("add"); }, "is no operation but has an op");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).inputs.pop_back(); }, "(`add`) is ill-formed: `add` takes 2 operands, not 1");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).attributes.set("axis", std::int64_t{0}); }, "`add` has no attribute `axis`");
  breaks([](Sample& s) { s.at(s.producer(s.stop)).inputs[0] = s.x; }, "(`logical_not`) is ill-typed: ");
  breaks([](Sample& s) { s.at(s.last).type.shape = {3}; }, "gives f32[2] as result 0, but value");
  breaks([](Sample& s) { s.at(s.last).type.shape = {std::int64_t{1} << 62, 4}; }, "has a type of impossible size");
  breaks([](Sample& s) { s.at(s.last).type.shape = {-1}; }, "has a type of impossible size");
  breaks(
      [](Sample& s) {
        const NodeId node = s.producer(s.last);
        s.at(node).results.push_back(s.graph.values.push_back({kVector, node, 1, Graph::kRoot, ""}));
      },
      "must have 1 results, not 2");
}

TEST(Verify, AttributesAreInNormalForm) {
  breaks([](Sample& s) { s.call("sum", Graph::kRoot, {s.x}, {DType::f32, {}}, {{"axis", std::int64_t{0}}}); }, "not in normal form");
}

TEST(Verify, LeavesAndControlNodesAreComplete) {
  breaks([](Sample& s) { s.at(s.constant).attributes.erase("value"); }, "has no array as its `value`");
  breaks([](Sample& s) { s.at(s.constant).attributes.set("value", Array::scalar(1.0)); }, "is i32[], but its `value` is f64[]");
  breaks([](Sample& s) { s.at(s.producer(s.x)).inputs = {s.p}; }, "must have 0 inputs and 1 results, not 1 and 1");
  breaks([](Sample& s) { s.at(s.loop).attributes.set("count", std::int64_t{-1}); }, "has the negative count -1");
  breaks([](Sample& s) { s.at(s.loop).attributes.erase("count"); }, "must have 1 inputs and 0 results, not 0 and 0");
  breaks([](Sample& s) { s.at(s.loop).inputs = {s.result(s.constant)}; }, "must have 0 inputs and 0 results, not 1 and 0");
  breaks([](Sample& s) { s.at(s.runtime).inputs = {s.p}; }, "needs an integer scalar as its count, not bool[]");
  breaks([](Sample& s) { s.at(s.runtime).inputs = {s.x}; }, "needs an integer scalar as its count, not f32[2]");
  breaks([](Sample& s) { s.at(s.repeat).inputs = {s.p}; }, "must have 0 inputs and 0 results, not 1 and 0");
  breaks([](Sample& s) { s.at(s.repeat).expected = -1; }, "expects an impossible number of trips");
  breaks([](Sample& s) { s.at(s.loop).expected = std::nan(""); }, "expects an impossible number of trips");
  breaks([](Sample& s) { s.at(s.choice).inputs = {s.x}; }, "needs a bool[] as its predicate, not f32[2]");
  breaks([](Sample& s) { s.at(s.choice).inputs.clear(); }, "must have 1 inputs and 0 results, not 0 and 0");
  breaks([](Sample& s) { s.at(s.choice).expected = 1.5; }, "has a probability outside 0 to 1");
  breaks([](Sample& s) { s.at(s.result(s.counter)).type = kBool; }, "must be i32[], not bool[]");
  breaks([](Sample& s) { std::swap(s.list(s.inside(s.loop))[0], s.list(s.inside(s.loop))[1]); },
         "must be the first node of its loop's body");
}

TEST(Verify, CarriedValuesAndMergesKeepTheirType) {
  breaks([](Sample& s) { s.at(s.w).inputs[0] = s.p; }, "is f32[2], but the initial value, value 1 (`p`), is bool[]");
  breaks([](Sample& s) { s.at(s.w).inputs[1] = s.stop; }, "but the yielded value");
  breaks([](Sample& s) { s.at(s.result(s.w, 1)).type = kBool; }, "but the value after the loop");
  breaks([](Sample& s) { s.at(s.chosen).inputs[0] = s.p; }, "but the value of the then arm");
  breaks([](Sample& s) { s.at(s.chosen).inputs[1] = s.p; }, "but the value of the else arm");
  breaks([](Sample& s) { s.at(s.w).inputs.pop_back(); }, "must have 2 inputs and 2 results, not 1 and 2");
}

TEST(Verify, PredicatesFit) {
  breaks([](Sample& s) { s.at(s.inside(s.repeat)).predicate = ValueId(); }, "region 3 (condition) has no predicate");
  breaks([](Sample& s) { s.at(s.inside(s.repeat, 1)).predicate = s.p; }, "region 4 (while) must not have a predicate");
  breaks([](Sample& s) { s.at(Graph::kRoot).predicate = s.p; }, "region 0 (root) must not have a predicate");
  breaks([](Sample& s) { s.at(s.inside(s.loop)).predicate = s.x; }, "needs a bool[] as its predicate, not f32[2]");
  breaks([](Sample& s) { s.at(s.inside(s.repeat)).predicate = s.stop; }, "region 3 (condition) tests value");
}

TEST(Verify, ReadersStandBehindAndBelow) {
  breaks([](Sample& s) { s.at(s.producer(s.sum)).inputs[1] = s.last; }, "(`add`) reads value 15 before it is there");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).inputs[1] = s.sum; }, "before it is there");
  breaks([](Sample& s) { s.at(s.producer(s.last)).inputs[0] = s.sum; }, "outside the region where it lives");
  breaks([](Sample& s) { s.at(s.producer(s.last)).inputs[0] = s.result(s.v); }, "outside the region where it lives");
  breaks([](Sample& s) { s.at(s.producer(s.less)).inputs[0] = s.more; }, "outside the region where it lives");
  breaks([](Sample& s) { s.at(s.producer(s.sum)).inputs[0] = s.result(s.w, 1); }, "before it is there");  // of its own loop
  breaks([](Sample& s) { s.at(s.w).inputs[0] = s.result(s.v, 1); }, "(`carried`) reads value");           // of a later loop
  breaks([](Sample& s) { s.at(s.w).inputs[1] = s.twice; }, "before it is there");
  breaks([](Sample& s) { s.at(s.chosen).inputs[0] = s.less; }, "(`merge`) reads value");
  breaks([](Sample& s) { s.at(s.chosen).inputs[1] = s.more; }, "outside the region where it lives");
  breaks([](Sample& s) { s.graph.outputs[0].value = s.sum; }, "which does not live in the root region");
}

TEST(Verify, ABodySeesItsConditionAndAnArmWhatStandsBefore) {
  Sample sample;
  const ValueId seen = sample.call("logical_not", sample.inside(sample.repeat, 1), {sample.go_on}, kBool);
  sample.call("logical_not", sample.inside(sample.repeat, 1), {seen}, kBool);
  EXPECT_THAT(verify(sample.graph), ::testing::IsEmpty());
  // A branch or loop body may also yield a value from outside.
  sample.at(sample.chosen).inputs = {sample.x, sample.result(sample.w, 1)};
  sample.at(sample.v).inputs[1] = sample.x;
  EXPECT_THAT(verify(sample.graph), ::testing::IsEmpty());
}

TEST(Verify, MergesStandRightBehindTheirBranch) {
  Sample second;
  const NodeId another = second.merge(second.choice, second.less, second.more);
  second.at(another).inputs = {second.more, second.less};
  std::vector<NodeId>& nodes = second.list(Graph::kRoot);
  std::swap(nodes[nodes.size() - 1], nodes[nodes.size() - 2]);
  EXPECT_THAT(verify(second.graph), ::testing::IsEmpty());
  std::swap(nodes[nodes.size() - 1], nodes[nodes.size() - 2]);
  EXPECT_THAT(verify(second.graph), ::testing::Contains(HasSubstr("must stand right behind its branch")));
}

TEST(Verify, SaysNoMoreThanAHundredThings) {
  GraphBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.call("add", Graph::kRoot, {ValueId(), ValueId()}, kVector);
  EXPECT_EQ(verify(builder.graph).size(), 100u);
}

TEST(Verify, NestsOfAHundredThousandLoopsAreNoRecursion) {
  GraphBuilder builder;
  const ValueId x = builder.input("x", kVector);
  RegionId region = Graph::kRoot;
  for (int i = 0; i < 100000; ++i) region = builder.inside(builder.for_loop(region, 2));
  builder.call("add", region, {x, x}, kVector);
  EXPECT_THAT(verify(builder.graph), ::testing::IsEmpty());
}

}  // namespace
}  // namespace cleave
