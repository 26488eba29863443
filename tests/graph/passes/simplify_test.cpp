// simplify: operations that it drops, merges and folds, operations that it must leave alone, and unchanged results of random programs.
#include "graph/passes/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "executor/check/reference.h"
#include "graph/passes/pass_table.h"
#include "graph/passes/seed.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/tracer.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave {
namespace {

Operand number(std::int64_t value) {
  return Literal{Literal::Type::integer, value, 0};
}

class SimplifyTest : public ::testing::Test {
 protected:
  SourceLocation at(int line) { return {file_, line, 5, nullptr}; }
  Operand op(std::string_view name, std::vector<Operand> inputs, Attributes attributes = {}) {
    return t.call(*find_op(name), inputs, std::move(attributes), at(++line_));
  }
  Tracer::State state(std::string name, Operand operand) { return {std::move(name), std::move(operand), at(1)}; }
  void output(const Operand& operand) { t.output("out" + std::to_string(++outputs_), operand, at(1)); }
  void print_value(const Operand& operand) { op("print", {operand}, {{"label", std::string("x")}}); }
  Operand call_host(const Operand& argument, bool pure, std::string library = {}) {
    auto function = std::make_shared<HostFunction>();
    function->name = "f";
    function->returns = {*t.type(argument)};
    function->pure = pure;
    function->library = std::move(library);
    return op("host_call", {argument}, {{"function", std::shared_ptr<const HostFunction>(std::move(function))}});
  }

  /// Ends the trace; returns the text of the simplified program without its header.
  std::string simplified() {
    graph_ = simplify(t.finish());
    std::string text = print(graph_, {.locations = false});
    for (int line = 0; line < 2; ++line) text.erase(0, text.find('\n') + 1);
    return text;
  }
  std::size_t count(std::string_view op_name) {
    return static_cast<std::size_t>(
        std::count_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& n) { return n.op && n.op->name == op_name; }));
  }
  std::size_t count(NodeKind kind) {
    return static_cast<std::size_t>(std::count_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& n) { return n.kind == kind; }));
  }

  std::shared_ptr<const std::string> file_ = std::make_shared<const std::string>("train.cpp");
  Tracer t{"test"};
  Graph graph_;
  int line_ = 0, outputs_ = 0;
  const Operand x = t.input("x", {DType::f32, {3}}, {}, at(1));
  const Operand c = t.input("c", {DType::boolean, {}}, {}, at(1));
};

TEST_F(SimplifyTest, DropsDeadCodeButNoInput) {
  op("exp", {op("add", {x, number(1)})});
  output(op("negative", {x}));
  EXPECT_EQ(simplified(), "%x.0 = input : f32[3]\n%c.1 = input : bool[]\n%2 = negative(%x.0) : f32[3]\noutput \"out1\" %2\n");
}

TEST_F(SimplifyTest, DropsLoopsWithoutEffectOrResult) {
  const std::vector<Tracer::State> initial{state("w", x)};
  const Tracer::Loop loop = t.begin_for(number(3), initial, at(1));
  t.begin_branch(c, at(1));
  op("exp", {loop.inside[0]});
  t.end_branch({}, {});
  const std::vector<Tracer::State> yielded{state("w", op("exp", {loop.inside[0]}))};
  t.end_for(yielded);
  output(x);
  EXPECT_EQ(simplified(), "%x.0 = input : f32[3]\n%c.1 = input : bool[]\noutput \"out1\" %x.0\n");
}

TEST_F(SimplifyTest, DropsCarriedValuesThatFeedOnlyThemselves) {
  const std::vector<Tracer::State> initial{state("a", x), state("b", x), state("d", x), state("e", x)};
  const Tracer::Loop loop = t.begin_for(number(3), initial, at(1));
  const std::vector<Tracer::State> yielded{state("a", op("exp", {loop.inside[0]})),                  // read after the loop
                                           state("b", op("add", {loop.inside[1], x})),               // has no reader
                                           state("d", op("add", {loop.inside[2], loop.inside[3]})),  // by each other
                                           state("e", op("add", {loop.inside[3], loop.inside[2]}))};
  output(t.end_for(yielded)[0]);
  EXPECT_EQ(simplified(),
            "%x.0 = input : f32[3]\n%c.1 = input : bool[]\nfor {count=3} expected 3.0 {\n  %2 = counter : i32[]\n"
            "  %a.3, %a.4 = carried(%x.0, %5) : f32[3]\n  %5 = exp(%a.3) : f32[3]\n}\noutput \"out1\" %a.4\n");
}

TEST_F(SimplifyTest, ALoopThatOverwritesUnreadBeginsWithZeros) {
  const std::vector<Tracer::State> initial{state("a", op("exp", {x})), state("b", x)};
  const Tracer::Loop loop = t.begin_for(number(3), initial, at(1));
  const std::vector<Tracer::State> yielded{state("a", op("negative", {loop.inside[1]})), state("b", op("add", {loop.inside[1], x}))};
  output(t.end_for(yielded)[0]);
  simplified();
  EXPECT_EQ(count("exp"), 0U);
  EXPECT_EQ(count("zeros"), 1U);
  EXPECT_EQ(print(simplify(graph_)), print(graph_));
}

TEST_F(SimplifyTest, AnInitialValueStaysWhereItMayBeTheLastOrIsRead) {
  const Operand n = t.input("n", {DType::i32, {}}, {}, at(1));
  for (const bool known : {false, true}) {
    const std::vector<Tracer::State> initial{state("a", op("exp", {x}))};
    const Tracer::Loop loop = t.begin_for(known ? number(3) : n, initial, at(1));
    const std::vector<Tracer::State> yielded{state("a", known ? op("add", {loop.inside[0], x}) : op("tanh", {x}))};
    output(t.end_for(yielded)[0]);
  }
  simplified();
  EXPECT_GE(count("exp"), 1U);
  EXPECT_EQ(count("zeros"), 0U);
}

TEST_F(SimplifyTest, DropsDeadMergesAndKeepsTheBranchForItsEffect) {
  t.begin_branch(c, at(1));
  const Operand y = op("exp", {x});
  print_value(x);
  t.begin_otherwise();
  const std::vector<Tracer::State> then_values{state("y", y)}, else_values{state("y", x)};
  t.end_branch(then_values, else_values);
  EXPECT_EQ(simplified(),
            "%x.0 = input : f32[3]\n%c.1 = input : bool[]\nif(%c.1) expected 0.5 assumed {\n  print(%x.0) {label=\"x\"}\n} else {\n}\n");
}

TEST_F(SimplifyTest, KeepsEffectsInOrder) {
  print_value(x);
  call_host(x, false);
  print_value(x);
  call_host(x, false);
  simplified();
  std::vector<std::string_view> order;
  for (const Node& node : graph_.nodes)
    if (node.op) order.push_back(node.op->name);
  EXPECT_EQ(order, (std::vector<std::string_view>{"print", "host_call", "print", "host_call"}));
}

TEST_F(SimplifyTest, MergesEqualNodesThatCanBeRead) {
  const Operand first = op("exp", {x});
  t.name(first, "first");
  t.begin_branch(c, at(1));
  const Operand inside = op("exp", {op("add", {op("exp", {x}), op("exp", {x})})});
  t.begin_otherwise();
  const Operand outside = op("exp", {op("add", {op("exp", {x}), op("exp", {x})})});
  const std::vector<Tracer::State> then_values{state("y", inside)}, else_values{state("y", outside)};
  output(t.end_branch(then_values, else_values)[0]);
  output(first);
  // One branch does not see the other: both keep their own sum.
  EXPECT_EQ(simplified(),
            "%x.0 = input : f32[3]\n%c.1 = input : bool[]\n%first.2 = exp(%x.0) : f32[3]\nif(%c.1) expected 0.5 assumed {\n"
            "  %3 = add(%first.2, %first.2) : f32[3]\n  %4 = exp(%3) : f32[3]\n} else {\n"
            "  %5 = add(%first.2, %first.2) : f32[3]\n  %6 = exp(%5) : f32[3]\n}\n%y.7 = merge(%4, %6) : f32[3]\n"
            "output \"out1\" %y.7\noutput \"out2\" %first.2\n");
  EXPECT_EQ(graph_.producer(graph_.outputs[1].value).location.line, 1);  // the location of the earlier one
}

TEST_F(SimplifyTest, NeverReadsALaterOrInnerNode) {
  const Operand first = t.constant(Array::of<std::int32_t>({1}, {0}), at(1));
  const auto taken = [&] { return op("take", {x, first}, {{"axis", std::int64_t{0}}}); };  // an operation that is not moved
  t.begin_for(number(2), {}, at(1));
  print_value(taken());
  t.end_for({});
  output(taken());
  simplified();
  EXPECT_EQ(count("take"), 2U);
}

TEST_F(SimplifyTest, DifferentPinsAndAllowancesStayApart) {
  const Operand a = op("exp", {x});
  t.push_place(Side::host);
  const Operand b = op("exp", {x});
  t.pop_place();
  t.push_allow({DiagnosticKind::round_trip, "meant"});
  const Operand d = op("exp", {x});
  t.pop_allow();
  for (const Operand& operand : {a, b, d}) output(operand);
  simplified();
  EXPECT_EQ(count("exp"), 3U);
}

TEST_F(SimplifyTest, MarkersStayAndAreNotFolded) {
  const Operand one = t.constant(Array::of<float>({1}, {1}), at(1));
  output(op("to_host", {one}));
  output(op("to_host", {x}));
  output(op("to_accelerator", {x}));
  simplified();
  EXPECT_EQ(count("to_host"), 2U);
  EXPECT_EQ(count("to_accelerator"), 1U);
}

TEST_F(SimplifyTest, CallablesOfOneNameAreNotTheSame) {
  output(call_host(x, true));
  output(call_host(x, true));
  output(call_host(x, true, "./libf.so"));
  output(call_host(x, true, "./libf.so"));
  simplified();
  EXPECT_EQ(count("host_call"), 3U);
}

TEST_F(SimplifyTest, RandomNumbersMergeBySeed) {
  for (std::int64_t seed : {1, 2, 1}) output(op("random_uniform", {}, {{"shape", Shape{3}}, {"seed", seed}}));
  simplified();
  EXPECT_EQ(count("random_uniform"), 2U);
}

TEST_F(SimplifyTest, FoldsConstants) {
  const Operand two = t.constant(Array::of<float>({3}, {1, 2, 3}), at(1));
  const Operand sum = op("sum", {op("add", {two, number(1)})});
  t.name(sum, "total");
  output(sum);
  EXPECT_EQ(simplified(),
            "%x.0 = input : f32[3]\n%c.1 = input : bool[]\n%total.2 = constant {value=f32[] (9.0)} : f32[]\noutput \"out1\" %total.2\n");
}

TEST_F(SimplifyTest, DoesNotFoldWhatIsPinnedFailsOrGrows) {
  const Operand one = t.constant(Array::of<float>({1}, {1}), at(1));
  const Operand far = t.constant(Array::of<std::int32_t>({1}, {7}), at(1));
  t.push_place(Side::accelerator);
  output(op("exp", {one}));
  t.pop_place();
  output(op("take", {one, far}, {{"axis", std::int64_t{0}}}));
  output(op("broadcast_to", {one}, {{"shape", Shape{100}}}));
  simplified();
  EXPECT_EQ(count("exp"), 1U);
  EXPECT_EQ(count("take"), 1U);
  EXPECT_EQ(count("broadcast_to"), 1U);
}

// --- properties -------------------------------------------------------------------------------------------------------------------------

struct Observed {
  std::string error;
  std::vector<std::pair<std::string, Array>> outputs;
  std::vector<std::string> printed, called;
};

Observed observe(const Graph& graph, const std::map<std::string, Array>& inputs, testing::EffectLog& log) {
  Observed observed;
  log.lines.clear();
  RunOptions options;
  options.inputs = inputs;
  options.print = [&](std::string_view line) { observed.printed.emplace_back(line); };
  Result<RunResult> result = runtime::run_reference(graph, options);
  if (result.ok())
    observed.outputs = result->outputs;
  else
    observed.error = result.error().message;
  observed.called = log.lines;
  return observed;
}

/// Each operation's op and source line, with the kinds of the regions around it.
std::multiset<std::string> places(const Graph& graph) {
  std::multiset<std::string> result;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::constant) continue;      // may be a folded operation
    if (node.op && node.op->name == "zeros") continue;  // may replace a value that a loop overwrites unread
    std::string place = std::string(node.op ? std::string_view(node.op->name) : to_string(node.kind)) + " " + to_string(node.location);
    for (RegionId region = node.region; region.valid(); region = graph.regions[region].parent) {
      place += " in " + std::string(to_string(graph.regions[region].kind));
      if (graph.regions[region].owner.valid()) place += " " + to_string(graph.nodes[graph.regions[region].owner].location);
    }
    result.insert(place);
  }
  return result;
}

TEST(SimplifyProperty, SameResultsSmallerProgramNothingMoved) {
  std::size_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < draws(600U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions options;
    options.benign = seed % 2 == 0;
    options.log = std::make_shared<testing::EffectLog>();
    const Graph graph = testing::random_graph(seed, options);
    const Graph simple = simplify(graph);
    ASSERT_EQ(verify(simple), std::vector<std::string>{});
    const auto zeros = [](const Graph& of) {
      return std::count_if(of.nodes.begin(), of.nodes.end(), [](const Node& node) { return node.op && node.op->name == "zeros"; });
    };
    ASSERT_LE(static_cast<std::ptrdiff_t>(simple.nodes.size()) - zeros(simple), static_cast<std::ptrdiff_t>(graph.nodes.size()));
    before += graph.nodes.size();
    after += simple.nodes.size();
    const std::string text = print(simple);
    ASSERT_EQ(print(simplify(graph)), text);
    ASSERT_EQ(print(simplify(simple)), text);

    const auto old_places = places(run_passes(graph, {.disabled = {"merge-equal", "drop-dead"}})), new_places = places(simple);
    ASSERT_TRUE(std::includes(old_places.begin(), old_places.end(), new_places.begin(), new_places.end())) << print(graph) << text;

    const auto inputs = testing::random_inputs(graph, seed);
    const Observed expected = observe(graph, inputs, *options.log);
    const Observed observed = observe(simple, inputs, *options.log);
    ASSERT_EQ(expected.error, "");
    ASSERT_EQ(observed.error, "");
    ASSERT_EQ(observed.printed, expected.printed) << print(graph) << text;
    ASSERT_EQ(observed.called, expected.called);
    ASSERT_TRUE(observed.outputs == expected.outputs) << print(graph) << text;
  }
  EXPECT_LT(after, before * 9 / 10);  // else it does nothing
}

TEST(AddSeed, ShiftsEverySeedAndNothingElse) {
  Tracer t("seeds");
  const Attributes drawn{{"uniform", std::vector<double>{-1, 1}}, {"seed", std::int64_t{5}}};
  t.output("w", t.parameter("w", {DType::f32, {2}}, drawn, {}), {});
  t.output("r", t.call(*find_op("random_normal"), {}, {{"shape", Shape{2}}, {"seed", std::int64_t{7}}}, {}), {});
  const Graph graph = t.finish();
  const Graph shifted = add_seed(graph, 10);
  EXPECT_EQ(shifted.nodes[NodeId(std::size_t{0})].attributes.get<std::int64_t>("seed"), 15);
  EXPECT_EQ(shifted.nodes[NodeId(std::size_t{1})].attributes.get<std::int64_t>("seed"), 17);
  EXPECT_EQ(print(add_seed(shifted, -10)), print(graph));
}

}  // namespace
}  // namespace cleave
