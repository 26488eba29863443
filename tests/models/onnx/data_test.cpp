// ONNX operators that move, select, count and reduce data, for cases that the package's conformance tests do not cover: results whose size
// depends on data, windows at computed positions, older versions, constant folding, and refused nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using testing::text_of_diagnostics;

struct File {
  std::vector<Message> nodes;
  std::vector<Message> inputs = {kX};
  std::vector<Message> initializers = {};
  std::vector<std::string_view> results = {"y"};
  std::int64_t version = 18;
  ModelOptions options = {};
};

Graph read_file(const File& file) {
  std::vector<Message> outputs;
  for (const std::string_view name : file.results) outputs.push_back(untyped(name));
  Graph graph = parse_onnx(model(graph_of({file.nodes, file.inputs, outputs, file.initializers}), file.version), "m.onnx", file.options);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

std::string said_of_file(const File& file) {
  return text_of_diagnostics(read_file(file));
}

/// Every output by its name, as text, computed by the reference implementations.
std::map<std::string, std::string> results_of_file(const File& file, std::map<std::string, Array> inputs) {
  const Graph graph = read_file(file);
  std::map<std::string, std::string> found;
  if (!graph.ok()) return ADD_FAILURE() << text_of_diagnostics(graph), found;
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  if (!result) return ADD_FAILURE() << result.error().message, found;
  for (const auto& [name, array] : result->outputs) found[name] = to_string(array);
  return found;
}

using Texts = std::map<std::string, std::string>;

Array matrix(std::initializer_list<float> values) {
  return Array::of<float>({2, 3}, values);
}

// --- results whose size depends on data ------------------------------------------------------------------------------------------------

TEST(OnnxData, FollowsASizeThatDependsOnDataToTheResult) {
  const File file{
      .nodes = {node("NonZero", {"x"}, {"places"}), node("Transpose", {"places"}, {"rows"}), node("GatherND", {"x", "rows"}, {"kept"}),
                node("Mul", {"kept", "two"}, {"twice"}), node("Unsqueeze", {"twice", "axes"}, {"y"})},
      .initializers = {floats("two", {}, {2}), int64s("axes", {1}, {0})}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({5, 0, 7, 0, 0, 9})}}), (Texts{{"y", "[[10.0, 14.0, 18.0]]"}}));
}

TEST(OnnxData, TakesTheSizeThatTheUserBounds) {
  File file{.nodes = {node("NonZero", {"x"}, {"y"}, {.name = "found"})}};
  file.options.bounds = {{"found", 4}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({5, 0, 7, 0, 0, 9})}}), (Texts{{"y", "[[0, 0, 1], [0, 2, 2]]"}}));
}

/// The Error of a run by the reference implementations.
std::string fails(const File& file, std::map<std::string, Array> inputs) {
  const Graph graph = read_file(file);
  if (!graph.ok()) return text_of_diagnostics(graph);
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  return result ? "ran" : result.error().message;
}

TEST(OnnxData, SaysWhereABoundIsTooSmall) {
  const Array x = matrix({5, 0, 7, 0, 0, 9});
  File file{.nodes = {node("NonZero", {"x"}, {"y"}, {.name = "found"})}};
  for (const std::int64_t bound : {0, 2}) {
    file.options.bounds = {{"found", bound}};
    EXPECT_EQ(fails(file, {{"x", x}}), "`found`: there are 3 results, and --bound found=" + std::to_string(bound) + " makes room for " +
                                           std::to_string(bound) + "; give a larger one");
  }
  file.options.bounds = {{"found", 3}};
  EXPECT_EQ(results_of_file(file, {{"x", x}}).at("y"), "[[0, 0, 1], [0, 2, 2]]") << "just large enough";
  file.nodes = {node("Unique", {"x"}, {"y", "first"}, {.name = "kinds"})};
  file.options.bounds = {{"kinds", 3}};
  EXPECT_THAT(fails(file, {{"x", x}}), ::testing::StartsWith("`kinds`: there are 4 results, and --bound kinds=3"));
  file.nodes = {node("Compress", {"x", "chosen"}, {"y"}, {.name = "some", .attributes = {integer("axis", 1)}})};
  file.inputs = {kX, value_info("chosen", kBool, {3})};
  file.options.bounds = {{"some", 1}};
  const Array chosen = Array::of<bool>({3}, {true, false, true});
  EXPECT_THAT(fails(file, {{"x", x}, {"chosen", chosen}}), ::testing::StartsWith("`some`: there are 2 results, and --bound some=1"));
}

TEST(OnnxData, KnowsSizesThatFollowFromConstants) {
  const File file{.nodes = {node("ConstantOfShape", {"three"}, {"ones"}, {.attributes = {tensor_attribute("value", floats("", {1}, {1}))}}),
                            node("NonZero", {"ones"}, {"places"}), node("Add", {"places", "places"}, {"y"})},
                  .initializers = {int64s("three", {1}, {3})}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({0, 0, 0, 0, 0, 0})}}), (Texts{{"y", "[[0, 2, 4]]"}}));
}

TEST(OnnxData, CountsRowsOfAReshapedResult) {
  const File file{
      .nodes = {node("NonZero", {"x"}, {"places"}), node("Transpose", {"places"}, {"rows"}), node("Reshape", {"rows", "flat"}, {"y"})},
      .initializers = {int64s("flat", {1}, {-1})}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({5, 0, 7, 0, 0, 0})}}), (Texts{{"y", "[0, 0, 0, 2]"}}));
}

TEST(OnnxData, RefusesWhatWouldNeedTheSize) {
  const auto after = [](Message last) {
    return said_of_file(
        {.nodes = {node("NonZero", {"x"}, {"places"}), std::move(last)}, .initializers = {int64s("six", {6}, {1, 1, 1, 1, 1, 1})}});
  };
  EXPECT_EQ(after(node("Add", {"places", "six"}, {"y"}, {.name = "n"})),
            "m.onnx: node n (Add): error: `add` cannot combine an operand of data-dependent size with one of fixed size\n");
  EXPECT_EQ(after(node("Split", {"places"}, {"y", "z"}, {.name = "n", .attributes = {integer("axis", 1)}})),
            "m.onnx: node n (Split): error: `Split` of an axis whose size depends on data is not supported\n");
  EXPECT_EQ(after(node("Unique", {"places"}, {"y"}, {.name = "n"})),
            "m.onnx: node n (Unique): error: `Unique` needs to know how large `places` is, and that depends on data\n");
  const File both{.nodes = {node("NonZero", {"x"}, {"places"}), node("Unique", {"places"}, {"kinds"}, {.name = "n"}),
                            node("Det", {"places"}, {"d"}, {.name = "m"}), node("Add", {"kinds", "d"}, {"y"}, {.name = "sum"})}};
  EXPECT_EQ(said_of_file(both),
            "m.onnx: node m (Det): error: `Det` needs to know how large `places` is, and that depends on data\n"
            "m.onnx: node n (Unique): error: `Unique` needs to know how large `places` is, and that depends on data\n")
      << "every first cause, once";
}

/// The results of `last`, nodes that read `kept`, the numbers above 0 of v, for each number of them.
std::vector<std::string> for_each_count(const std::vector<Message>& last, const std::vector<Message>& initializers = {}) {
  std::vector<Message> nodes{node("Greater", {"v", "zero"}, {"chosen"}), node("Compress", {"v", "chosen"}, {"kept"})};
  nodes.insert(nodes.end(), last.begin(), last.end());
  File file{.nodes = nodes, .inputs = {value_info("v", kFloat, {3})}, .initializers = initializers};
  file.initializers.push_back(floats("zero", {}, {0}));
  std::vector<std::string> found;
  for (const std::vector<float>& v : {std::vector<float>{-1, -2, -3}, {-1, 5, -3}, {4, -2, 6}, {7, 8, 9}}) {
    const Array array = Array::of<float>({3}, std::span<const float>(v));
    const Graph graph = read_file(file);
    if (!graph.ok()) return {text_of_diagnostics(graph)};
    const Result<RunResult> result = runtime::run_reference(graph, {.inputs = {{"v", array}}});
    found.push_back(result ? to_string(*result->output("y")) : result.error().message);
  }
  return found;
}
using Lines = std::vector<std::string>;

TEST(OnnxData, ComputesWithWhatThereIs) {
  EXPECT_EQ(for_each_count({node("Shape", {"kept"}, {"y"})}), (Lines{"[0]", "[1]", "[2]", "[3]"}));
  EXPECT_EQ(for_each_count({node("ReduceSum", {"kept"}, {"y"}, {.attributes = {integer("keepdims", 0)}})}),
            (Lines{"0.0", "5.0", "10.0", "24.0"}));
  EXPECT_EQ(for_each_count({node("ReduceMean", {"kept"}, {"y"}, {.attributes = {integer("keepdims", 0)}})}),
            (Lines{"0.0", "5.0", "5.0", "8.0"}));
  EXPECT_EQ(for_each_count({node("Concat", {"kept", "v"}, {"y"}, {.attributes = {integer("axis", 0)}})}),
            (Lines{"[-1.0, -2.0, -3.0]", "[5.0, -1.0, 5.0, -3.0]", "[4.0, 6.0, 4.0, -2.0, 6.0]", "[7.0, 8.0, 9.0, 7.0, 8.0, 9.0]"}));
  EXPECT_EQ(for_each_count({node("Slice", {"kept", "from", "to"}, {"y"})}, {int64s("from", {1}, {-2}), int64s("to", {1}, {99})}),
            (Lines{"[]", "[5.0]", "[4.0, 6.0]", "[8.0, 9.0]"}));
  EXPECT_EQ(for_each_count({node("Shape", {"kept"}, {"n"}), node("Expand", {"one", "n"}, {"y"})}, {floats("one", {1}, {1})}),
            (Lines{"[]", "[1.0]", "[1.0, 1.0]", "[1.0, 1.0, 1.0]"}));
}

TEST(OnnxData, SaysWhatARunLacks) {
  EXPECT_THAT(for_each_count({node("Gather", {"kept", "last"}, {"y"}, {.name = "n"})}, {int64s("last", {}, {-1})}),
              ::testing::ElementsAre(::testing::HasSubstr("outside"), "5.0", "6.0", "9.0"));
  EXPECT_EQ(for_each_count({node("TopK", {"kept", "two"}, {"y", "places"}, {.name = "n"})}, {int64s("two", {1}, {2})}),
            (Lines{"`n`: 2 elements of 0 are asked for", "`n`: 2 elements of 1 are asked for", "[6.0, 4.0]", "[9.0, 8.0]"}));
  EXPECT_EQ(for_each_count({node("Reshape", {"kept", "shape"}, {"y"}, {.name = "n"})}, {int64s("shape", {2}, {2, 1})}),
            (Lines{"`n`: sizes of 0 and 2 elements, which must be equal", "`n`: sizes of 1 and 2 elements, which must be equal",
                   "[[4.0], [6.0]]", "`n`: sizes of 3 and 2 elements, which must be equal"}));
}

TEST(OnnxData, ReadsNothingBehindTheCountAsAnIndex) {
  // Zeros follow the counted elements; ten less would be out of range.
  const File file{
      .nodes = {node("NonZero", {"v"}, {"places"}), node("Sub", {"places", "ten"}, {"less"}), node("Gather", {"v", "less"}, {"y"})},
      .inputs = {value_info("v", kFloat, {12})},
      .initializers = {int64s("ten", {}, {10})}};
  const Array v = Array::of<float>({12}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 7});
  EXPECT_EQ(results_of_file(file, {{"v", v}}).at("y"), "[[0.0, 0.0]]");
}

TEST(OnnxData, GroupsEqualRowsInTheOrderOfTheirFirst) {
  File file{
      .nodes = {node("Unique", {"v"}, {"y", "first", "inverse", "counts"}, {.attributes = {integer("axis", 1), integer("sorted", 0)}})},
      .inputs = {value_info("v", kFloat, {2, 4})},
      .results = {"y", "first", "inverse", "counts"}};
  const Texts groups = results_of_file(file, {{"v", Array::of<float>({2, 4}, {3, 1, 3, 1, 4, 1, 4, 0})}});
  EXPECT_EQ(
      groups,
      (Texts{{"y", "[[3.0, 1.0, 1.0], [4.0, 1.0, 0.0]]"}, {"first", "[0, 1, 3]"}, {"inverse", "[0, 1, 0, 2]"}, {"counts", "[2, 1, 1]"}}));
  file.inputs = {};  // if everything is known, the size is
  file.initializers = {floats("v", {1, 4}, {3, 1, 3, 2})};
  EXPECT_EQ(results_of_file(file, {}),
            (Texts{{"y", "[[3.0, 1.0, 2.0]]"}, {"first", "[0, 1, 3]"}, {"inverse", "[0, 1, 0, 2]"}, {"counts", "[2, 1, 1]"}}));
}

// --- Slice -----------------------------------------------------------------------------------------------------------------------------

/// A start before the first element is moved to it, also if steps go backwards: so ONNX Runtime does, and the operator's text says.
TEST(OnnxData, BeginsABackwardSliceAtTheFirstElementAtTheEarliest) {
  const auto sliced = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    const File file{.nodes = {node("Slice", {"v", "starts", "ends", "axes", "steps"}, {"y"})},
                    .inputs = {value_info("v", kFloat, {4})},
                    .initializers = {int64s("starts", {1}, {start}), int64s("ends", {1}, {end}), int64s("axes", {1}, {0}),
                                     int64s("steps", {1}, {step})}};
    return results_of_file(file, {{"v", Array::of<float>({4}, {1, 2, 3, 4})}}).at("y");
  };
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(sliced(-6, kFar, -1), "[1.0]");
  EXPECT_EQ(sliced(kFar, kFar, -2), "[1.0]");
  EXPECT_EQ(sliced(-6, -4, -1), "[]") << "the end is not taken";
  EXPECT_EQ(sliced(-4, kFar, -1), "[1.0]");
  EXPECT_EQ(sliced(9, -9, -3), "[4.0, 1.0]");
  EXPECT_EQ(sliced(-6, 2, 1), "[1.0, 2.0]");
}

TEST(OnnxData, SlicesAtAComputedPlaceWhereTheSizeIsKnown) {
  File file{.nodes = {node("Add", {"i", "two"}, {"end"}), node("Reshape", {"i", "vector"}, {"from"}),
                      node("Reshape", {"end", "vector"}, {"to"}), node("Slice", {"x", "from", "to", "axes"}, {"y"}, {.name = "n"})},
            .inputs = {kX, value_info("i", kInt64, {})},
            .initializers = {int64s("two", {}, {2}), int64s("vector", {1}, {1}), int64s("axes", {1}, {1})}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}, {"i", Array::scalar<std::int64_t>(1)}}),
            (Texts{{"y", "[[2.0, 3.0], [5.0, 6.0]]"}}));
  file.nodes[0] = node("Mul", {"i", "two"}, {"end"});
  const auto doubled = [&](std::int64_t i) { return results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}, {"i", Array::scalar(i)}}); };
  EXPECT_EQ(doubled(1), (Texts{{"y", "[[2.0], [5.0]]"}}));
  EXPECT_EQ(doubled(2), (Texts{{"y", "[[3.0], [6.0]]"}})) << "there is no fourth column";
}

TEST(OnnxData, SlicesByAttributesOfTheFirstVersion) {
  const File file{.nodes = {node("Slice", {"x"}, {"y"}, {.attributes = {integers("starts", {0, -2}), integers("ends", {1, 1000})}})},
                  .version = 9};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}}), (Texts{{"y", "[[2.0, 3.0]]"}}));
}

// --- Pad, Split, TopK, reductions --------------------------------------------------------------------------------------------------------

TEST(OnnxData, PadsBeyondOneReflectionAndCutsOff) {
  const auto padded = [](std::string_view mode, const std::vector<std::int64_t>& widths) {
    return results_of_file({.nodes = {node("Pad", {"v", "widths"}, {"y"}, {.attributes = {text("mode", mode)}})},
                            .inputs = {value_info("v", kFloat, {3})},
                            .initializers = {int64s("widths", {2}, widths)}},
                           {{"v", Array::of<float>({3}, {1, 2, 3})}})
        .at("y");
  };
  EXPECT_EQ(padded("reflect", {5, 3}), "[2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0]");
  EXPECT_EQ(padded("wrap", {4, 1}), "[3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]");
  EXPECT_EQ(padded("edge", {-1, 2}), "[2.0, 3.0, 3.0, 3.0]");
  EXPECT_EQ(padded("constant", {1, -2}), "[0.0, 1.0]");
}

TEST(OnnxData, PadsWithAValueThatIsComputed) {
  const File file{.nodes = {node("Pad", {"v", "widths", "value"}, {"y"})},
                  .inputs = {value_info("v", kFloat, {2}), value_info("value", kFloat, {})},
                  .initializers = {int64s("widths", {2}, {1, 2})}};
  EXPECT_EQ(results_of_file(file, {{"v", Array::of<float>({2}, {1, 2})}, {"value", Array::scalar(7.F)}}),
            (Texts{{"y", "[7.0, 1.0, 2.0, 7.0, 7.0]"}}));
}

TEST(OnnxData, RefusesPartsThatDoNotMakeUpTheAxis) {
  const File file{.nodes = {node("Split", {"x"}, {"y", "z"}, {.name = "n", .attributes = {integer("axis", 1)}})}, .version = 13};
  EXPECT_EQ(said_of_file(file), "m.onnx: node n (Split): error: `Split`: an axis of 3 elements has no 2 parts\n");
}

TEST(OnnxData, FindsTheSmallestWithNaNLast) {
  const File file{.nodes = {node("TopK", {"v", "k"}, {"y", "places"}, {.attributes = {integer("largest", 0)}})},
                  .inputs = {value_info("v", kFloat, {4})},
                  .initializers = {int64s("k", {1}, {3})},
                  .results = {"y", "places"}};
  EXPECT_EQ(results_of_file(file, {{"v", Array::of<float>({4}, {3, std::nanf(""), 1, 1})}}),
            (Texts{{"y", "[1.0, 1.0, 3.0]"}, {"places", "[2, 3, 0]"}}));
}

TEST(OnnxData, RefusesNumbersFarOutside) {
  const auto refused = [](std::string_view op, const Message& number, const std::vector<Message>& attributes = {}) {
    const std::string text =
        said_of_file({.nodes = {node(op, {"x", "number"}, {"y"}, {.name = "n", .attributes = attributes})}, .initializers = {number}});
    return text.starts_with("m.onnx: node n (" + std::string(op) + "): error: ") ? std::string() : text;
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t number : {kMost, kLeast}) {
    EXPECT_EQ(refused("TopK", int64s("number", {1}, {number})), "");
    EXPECT_EQ(refused("Pad", int64s("number", {4}, {0, 1, number, number})), "");
    EXPECT_EQ(refused("Pad", int64s("number", {4}, {0, 1 << 30, 0, 0}), {text("mode", "wrap")}), "");
    EXPECT_EQ(refused("Gather", int64s("number", {}, {number})), "");
    EXPECT_EQ(refused("Split", int64s("number", {1}, {number})), "");
    EXPECT_EQ(refused("CumSum", int64s("number", {}, {number})), "");
    EXPECT_EQ(refused("Tile", int64s("number", {2}, {number, number})), "");
    EXPECT_EQ(refused("Unsqueeze", int64s("number", {1}, {number})), "");
    EXPECT_EQ(refused("SplitToSequence", int64s("number", {2}, {1, number})), "");
    EXPECT_EQ(refused("CenterCropPad", int64s("number", {2}, {number, 1})), "");
  }
}

TEST(OnnxData, TakesAxesAsAttributesAndAsOperands) {
  const File old{.nodes = {node("ReduceSum", {"x"}, {"y"}, {.attributes = {integers("axes", {-1}), integer("keepdims", 0)}})},
                 .version = 11};
  EXPECT_EQ(results_of_file(old, {{"x", matrix({1, 2, 3, 4, 5, 6})}}), (Texts{{"y", "[6.0, 15.0]"}}));
  const File open{.nodes = {node("ReduceSum", {"x", "axes"}, {"y"}, {.name = "n"})}, .inputs = {kX, value_info("axes", kInt64, {1})}};
  EXPECT_EQ(
      said_of_file(open),
      "m.onnx: node n (ReduceSum): error: `ReduceSum` needs `axes` to be known when the model is read, as the shape of its result depends "
      "on it; if it is the same in every run, give it with --constant axes=VALUE\n");
}

TEST(OnnxData, GivesEachElementAloneWhereNoAxisIsReduced) {
  const File file{.nodes = {node("ReduceSumSquare", {"x"}, {"y"}, {.attributes = {integer("noop_with_empty_axes", 1)}})}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}}), (Texts{{"y", "[[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]"}}));
}

// --- sequences and optional values -------------------------------------------------------------------------------------------------------

TEST(OnnxData, KnowsSequencesWhileItReads) {
  const File file{.nodes = {node("SplitToSequence", {"x"}, {"rows"}, {.attributes = {integer("keepdims", 0)}}),
                            node("SequenceInsert", {"rows", "row", "minus"}, {"more"}), node("SequenceLength", {"more"}, {"length"}),
                            node("ConcatFromSequence", {"more"}, {"y"}, {.attributes = {integer("axis", 0), integer("new_axis", 1)}})},
                  .initializers = {floats("row", {3}, {7, 8, 9}), int64s("minus", {}, {-1})},
                  .results = {"y", "length"}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}}),
            (Texts{{"y", "[[1.0, 2.0, 3.0], [7.0, 8.0, 9.0], [4.0, 5.0, 6.0]]"}, {"length", "3"}}));
}

TEST(OnnxData, RefusesWhatDependsOnDataInASequence) {
  File file{.nodes = {node("SequenceConstruct", {"x", "x"}, {"s"}), node("SequenceAt", {"s", "i"}, {"y"}, {.name = "n"})},
            .inputs = {kX, value_info("i", kInt64, {})}};
  EXPECT_EQ(said_of_file(file),
            "m.onnx: node n (SequenceAt): error: `SequenceAt` needs `i` to be known when the model is read, as which item is meant depends "
            "on it; "
            "if it is the same in every run, give it with --constant i=VALUE\n");
  file.options.constants = {{"i", "2"}};
  EXPECT_EQ(said_of_file(file), "m.onnx: node n (SequenceAt): error: `SequenceAt`: there is no place 2 in a sequence of 2\n");
  file.results = {"s"};
  file.options.constants = {{"i", "1"}};
  EXPECT_EQ(said_of_file(file), "m.onnx: output s: error: a sequence or an optional value cannot be a result\n");
  file.nodes[1] = node("Relu", {"s"}, {"y"}, {.name = "n"});
  file.inputs = {kX};
  file.options.constants = {};
  file.results = {"y"};
  EXPECT_EQ(said_of_file(file), "m.onnx: node n (Relu): error: `Relu` does not take the sequence `s`\n");
}

TEST(OnnxData, KnowsWhetherAnOptionalHoldsSomething) {
  const File file{.nodes = {node("Optional", {}, {"none"}), node("Optional", {"x"}, {"some"}), node("OptionalHasElement", {"none"}, {"a"}),
                            node("OptionalHasElement", {"some"}, {"b"}), node("OptionalGetElement", {"some"}, {"y"})},
                  .results = {"a", "b", "y"}};
  EXPECT_EQ(results_of_file(file, {{"x", matrix({1, 2, 3, 4, 5, 6})}}),
            (Texts{{"a", "false"}, {"b", "true"}, {"y", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"}}));
}

}  // namespace
}  // namespace cleave
