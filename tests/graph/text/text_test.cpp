// The text form: printed text reads back as the same graph, and damaged text causes nothing worse than an Error.
#include "graph/text/text.h"
#include "graph/passes/same_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/base/utf8.h"
#include "graph/passes/verify.h"
#include "graph/trace/trace.h"
#include "graph/trace/tracer.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave {
namespace {

SourceLocation at(int line) {
  return {std::make_shared<std::string>("train.cpp"), line, 3, nullptr};
}

std::string lines(std::initializer_list<std::string_view> items) {
  std::string text;
  for (std::string_view item : items) (text += item) += '\n';
  return text;
}

/// A program with one of each construct of the text form.
Graph small_program() {
  Tracer t("small");
  const Operand x = t.input("x", {DType::f32, {2}}, {{"file", std::string("data/x.npy")}}, at(1));
  t.push_scope("layer \"3\"", at(9));
  t.push_place(Side::host);
  t.push_allow({DiagnosticKind::round_trip, "meant"});
  const Operand y = t.call(*find_op("add"), std::vector<Operand>{x, Literal{Literal::Type::floating, 0, 0.5}}, {}, at(2));
  t.pop_allow();
  t.pop_place();
  t.pop_scope();
  t.name(y, "a name");
  const std::vector<Tracer::State> initial{{"w", y, at(3)}};
  const Tracer::Loop loop = t.begin_for(Literal{Literal::Type::integer, 3, 0}, initial, at(3), std::nullopt, "step");
  const Operand next = t.call(*find_op("multiply"), std::vector<Operand>{loop.inside[0], x}, {}, at(4));
  const std::vector<Tracer::State> yielded{{"w", next, at(4)}};
  const std::vector<Operand> after = t.end_for(yielded);
  t.output("w", after[0], at(5));
  Limits limits;
  limits.round_trips = 0;
  limits.location = at(6);
  t.set_limits(limits);
  return t.finish();
}

TEST(Text, KeepsTheReasonOfARulesPin) {
  for (const Pin& pin : {Pin{Side::host, "it computes \"shapes\""}, Pin{Side::host, "there is no kernel", true}, Pin{Side::accelerator}}) {
    Graph graph = small_program();
    const auto add = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.pin.any(); });
    ASSERT_NE(add, graph.nodes.end());
    add->pin = pin;
    const Result<Graph> again = parse_graph(print(graph), "a.graph");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(same_program(graph, *again)) << print(*again);
  }
}

TEST(Text, IsReadable) {
  EXPECT_EQ(print(small_program()), lines({"cleave-graph 1", "name \"small\"", "file 0 \"train.cpp\"", "scope 0 \"layer \\\"3\\\"\" @0:9:3",
                                           "limits round_trips 0 @0:6:3", "%x.0 = input {file=\"data/x.npy\"} : f32[2] @0:1:3",
                                           "%1 = constant {value=f32[] (0.5)} : f32[] allow round-trip \"meant\" @0:2:3/0",
                                           "%2 \"a name\" = add(%x.0, %1) : f32[2] pin host allow round-trip \"meant\" @0:2:3/0",
                                           "for {count=3} expected 3.0 @0:3:3 {", "  %step.3 = counter : i32[] @0:3:3",
                                           "  %w.4, %w.5 = carried(%2, %6) : f32[2] @0:3:3", "  %6 = multiply(%w.4, %x.0) : f32[2] @0:4:3",
                                           "}", "output \"w\" %w.5 @0:5:3"}));
}

TEST(Text, ReadsBackNamesLocationsAndChains) {
  const Graph graph = small_program();
  const Result<Graph> read = parse_graph(print(graph), "small.graph");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(same_program(graph, *read));
  EXPECT_EQ(read->values[ValueId(std::size_t{2})].name, "a name");
  const Node& add = read->producer(ValueId(std::size_t{2}));
  EXPECT_EQ(to_string(add.location), "train.cpp:2:3");
  ASSERT_NE(add.location.via, nullptr);
  EXPECT_EQ(add.location.via->label, "layer \"3\"");
  EXPECT_EQ(read->limits.round_trips, 0);
}

TEST(Text, WithoutLocationsStillParses) {
  const Graph graph = small_program();
  const std::string text = print(graph, {.locations = false});
  EXPECT_EQ(text.find('@'), std::string::npos);
  const Result<Graph> read = parse_graph(text, "small.graph");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(same_program(graph, *read));
}

template <class T>
void expect_exact(const std::vector<T>& values) {
  Tracer t("constant");
  t.output("c", t.constant(Array::of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values)), at(1)), at(1));
  const Graph graph = t.finish();
  const Result<Graph> read = parse_graph(print(graph), "c.graph");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->nodes[NodeId(std::size_t{0})].attributes.get<Array>("value") ==
              graph.nodes[NodeId(std::size_t{0})].attributes.get<Array>("value"))
      << print(graph);
}

TEST(Text, KeepsTheLimitOfThePrediction) {
  Tracer t("m");
  Limits limits;
  limits.prediction_error = 0.2;
  t.set_limits(limits);
  const std::string text = print(t.finish());
  EXPECT_NE(text.find("\nlimits prediction_error 0.2\n"), std::string::npos) << text;
  const Result<Graph> read = parse_graph(text, "m.graph");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->limits.prediction_error, 0.2);
  for (const std::string bad : {"0", "-1", "x"}) {
    std::string wrong = text;
    wrong.replace(wrong.find("0.2"), 3, bad);
    EXPECT_FALSE(parse_graph(wrong, "m.graph").ok()) << bad;
  }
}

TEST(Text, LeavesOutThePlaceOfLimitsThatSetNone) {
  const Result<Graph> graph = parse_graph(lines({"cleave-graph 1", "name \"m\"", "file 0 \"a.yaml\"", "limits @0:8:3"}), "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const std::string printed = print(*graph);
  const Result<Graph> again = parse_graph(printed, "m.graph");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(print(*again), printed);
}

TEST(Text, KeepsEveryBitOfConstants) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float odd_nan = std::bit_cast<float>(0xffc12345U);
  expect_exact<float>({0.1F, -0.0F, 1e-45F, std::numeric_limits<float>::max(), INFINITY, -INFINITY, nan});
  expect_exact<float>({odd_nan, 1});
  expect_exact<double>({0.1, -0.0, 5e-324, std::numeric_limits<double>::max(), -INFINITY, std::nan("")});
  expect_exact<Half>({Half(0.1F), Half(-0.0F), Half(INFINITY), Half(6e-8F)});
  expect_exact<BFloat16>({BFloat16(0.1F), BFloat16(nan)});
  expect_exact<std::int64_t>({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 0});
  expect_exact<std::uint8_t>({0, 255});
  std::mt19937 engine(5);
  for (int size : {64, 65, 66, 67, 1000}) {
    std::vector<float> many(static_cast<std::size_t>(size));
    for (float& value : many) value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    expect_exact<float>(many);
  }
}

void expect_error(std::string_view text, int line, std::string_view part) {
  const Result<Graph> read = parse_graph(text, "bad.graph");
  ASSERT_FALSE(read.ok()) << text;
  EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().location.line, line) << read.error().message;
  EXPECT_EQ(read.error().location.file_name(), "bad.graph");
}

TEST(Text, ArraysMayBeStoredBesideIt) {
  const Array array = Array::of<float>({2, 2}, {1, 2, 3, 4});
  const Graph graph = trace("stored", {{"x", "f32[2, 2]"}}, [&](Tensor x) { return named("y", x + constant(array)); });
  std::vector<Array> arrays;
  const auto store = [&](const Array& each) -> std::optional<std::size_t> {
    arrays.push_back(each);
    return arrays.size() - 1;
  };
  const std::string text = print(graph, {.stored = store});
  EXPECT_THAT(text, ::testing::HasSubstr("constant {value=f32[2, 2] stored 0}"));
  const auto stored = [&](std::size_t number) { return number < arrays.size() ? &arrays[number] : nullptr; };
  const Result<Graph> again = parse_graph(text, "t.graph", {}, stored);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print(*again), print(graph));
  EXPECT_THAT(parse_graph(text, "t.graph").error().message, ::testing::HasSubstr("no array 0 beside it"));
  arrays[0] = Array::of<float>({4}, {1, 2, 3, 4});
  EXPECT_THAT(parse_graph(text, "t.graph", {}, stored).error().message, ::testing::HasSubstr("array 0 has the type f32[4]"));
}

TEST(Text, SaysWhereAndWhatIsWrong) {
  expect_error("", 1, "no graph file");
  expect_error("model: x\n", 1, "no graph file");
  expect_error("cleave-graph 2\n", 1, "version 2");
  expect_error("cleave-graph 1\n%0 = inputt : f32[]\n", 2, "unknown op `inputt`");
  expect_error("cleave-graph 1\n%0 = input : f32[]\n%1 = ad(%0, %0) : f32[]\n", 3, "did you mean `add`?");
  expect_error("cleave-graph 1\n%1 = input : f32[]\n", 2, "expected 0");
  expect_error("cleave-graph 1\n\n%0 = add(%1, %1) : f32[]\n", 3, "value 1 is not defined above");
  expect_error("cleave-graph 1\n%0 = input : f32[9223372036854775807, 9]\n", 2, "expected a type");
  expect_error("cleave-graph 1\n%0 = constant {value=f32[1000000] (1.0)} : f32[1000000]\n", 2, "missing");
  expect_error("cleave-graph 1\n%0 = constant {value=bool[2] base64 \"AgA=\"} : bool[2]\n", 2, "neither 0 nor 1");
  expect_error("cleave-graph 1\n}\n", 2, "no block to close");
  expect_error("cleave-graph 1\nwhile expected 10.0 {\n", 3, "not closed");
  expect_error("cleave-graph 1\n%0 = merge(%0, %0) : f32[]\n", 2, "behind its branch");
  expect_error("cleave-graph 1\n%0 = input : f32[]\noutput \"a\" %0 @0:1:1\n", 3, "unknown file");
  const std::string inputs = "cleave-graph 1\n%x.0 = input : f32[]\n";
  expect_error(inputs + "output \"a\" %0\noutput \"a\" %0\n", 4, "a second output is named `a`");
  expect_error(inputs + "%x.1 = parameter {value=1.0} : f32[]\n", 3, "the second input or parameter named `x`");
  expect_error(inputs + "%1 = input : f32[]\n", 3, "has no name");
  expect_error(inputs + "for {count=2} {\n  %i.1 = counter : i32[]\n  %y.2 = input : f32[]\n}\n", 5, "must stand in the root region");
  expect_error(inputs + "%1 = exp(%0) : f32[] pin host pin accelerator\n", 3, "`pin` is given twice");
  expect_error(inputs + "%1 = to_accelerator(%0) : f32[] pin host\n", 3, "pinned to the side that it moves its operand away from");
  expect_error(inputs + "%y.1 = input : f32[] pin accelerator\n", 3, "is no operation but has a pin");
  expect_error(inputs + "for {count=2} expected 1.0 expected 2.0 {\n}\n", 3, "`expected` is given twice");
  expect_error(inputs + "while expected inf {\n  %b.1 = constant {value=bool[] (false)} : bool[]\n  test %1\n} do {\n}\n", 3,
               "impossible number of trips");
  expect_error(inputs + "limits transfers 1 transfers 2\n", 3, "`transfers` is given twice");
  expect_error(inputs + "%1 = exp(%0) : i32[]\n", 3, "gives f32[] as result 0");
  std::string deep = "cleave-graph 1\n";
  for (int i = 0; i < 100000; ++i) deep += "for {count=1} {\n";
  const Result<Graph> read = parse_graph(deep, "deep.graph");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("too deeply"), std::string::npos);
}

TEST(Text, TheColumnIsThatOfTheNode) {
  const Result<Graph> read = parse_graph("cleave-graph 1\n%x.0 = input : f32[]\n  %y.1 = input : f32[] pin host\n", "bad.graph");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(to_string(read.error().location), "bad.graph:3:10");
}

TEST(Text, AnyBytesInNamesReadBack) {
  Graph graph;
  for (int byte = 1; byte < 256; ++byte) graph.name += static_cast<char>(byte);
  graph.name += "\xc2\x9b caf\xc3\xa9 \xe2\x80\xae";
  const std::string text = print(graph);
  EXPECT_TRUE(is_utf8(text));
  const Result<Graph> read = parse_graph(text, "bytes.graph");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->name, graph.name);
}

TEST(Text, RoundTripsRandomPrograms) {
  testing::RandomGraphOptions options;
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    options.benign = seed % 2 == 0;
    const Graph graph = testing::random_graph(seed, options);
    ASSERT_EQ(verify(graph), std::vector<std::string>{});
    const std::string text = print(graph);
    const Result<Graph> read = parse_graph(text, "random.graph");
    ASSERT_TRUE(read.ok()) << read.error().message << " in line " << read.error().location.line << "\n" << text;
    ASSERT_EQ(print(*read), text);
    ASSERT_TRUE(same_program(graph, *read)) << text;
  }
}

TEST(Text, SurvivesAnyDamage) {
  std::mt19937 engine(11);
  int accepted = 0;
  auto check = [&](const std::string& text) {
    const Result<Graph> read = parse_graph(text, "damaged.graph");
    if (!read.ok()) {
      ASSERT_FALSE(read.error().message.empty());
      return;
    }
    ++accepted;
    ASSERT_EQ(verify(*read), std::vector<std::string>{});
    const std::string printed = print(*read);
    const Result<Graph> again = parse_graph(printed, "again.graph");
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << printed;
    ASSERT_EQ(print(*again), printed);
  };
  for (std::uint64_t seed = 0; seed < (testing::kSanitized ? 6 : 20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions options;
    options.max_ops = 12;
    const std::string text = print(testing::random_graph(seed, options));
    for (std::size_t length = 0; length < text.size(); length += 1 + engine() % 7) check(text.substr(0, length));
    for (int round = 0; round < draws(300); ++round) {
      std::string damaged = text;
      for (auto flips = 1 + engine() % 3; flips > 0; --flips) {
        const std::size_t place = engine() % damaged.size();
        switch (engine() % 3) {
          case 0: damaged[place] = static_cast<char>(engine()); break;
          case 1: damaged[place] = damaged[engine() % damaged.size()]; break;
          default: damaged.erase(place, 1 + engine() % 5);
        }
      }
      check(damaged);
    }
  }
  EXPECT_GT(accepted, testing::kSanitized ? 6 : 20);  // else the damage is not subtle enough to test anything
}

}  // namespace
}  // namespace cleave
