// Texts in ONNX files: labels of classes as indices, results that are left out, what a map becomes, and texts that nothing can stand for.
#include <gtest/gtest.h>

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

constexpr std::string_view kLearning = "ai.onnx.ml";

Message strings(std::string_view name, std::initializer_list<std::int64_t> shape, const std::vector<std::string>& values) {
  Message message;
  for (const std::int64_t extent : shape) message.varint(1, extent);
  message.varint(2, kString).text(8, name);
  for (const std::string& value : values) message.text(6, value);
  return message;
}
Message text_list(std::string_view name, const std::vector<std::string>& values) {
  Message attribute = Message().text(1, name);
  for (const std::string& value : values) attribute.text(9, value);
  return attribute.varint(20, 8);
}
Message number_list(std::string_view name, const std::vector<float>& values) {
  Message attribute = Message().text(1, name);
  for (const float value : values) attribute.fixed32(7, value);
  return attribute.varint(20, 6);
}

struct Read {
  Graph graph;
  [[nodiscard]] std::string said() const { return text_of_diagnostics(graph); }
  [[nodiscard]] std::string output(const std::string& name, std::map<std::string, Array> inputs = {}) const {
    if (!graph.ok()) return said();
    const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
    if (!result) return result.error().message;
    return result->output(name) ? to_string(*result->output(name)) : "no output";
  }
};

Read read(const GraphParts& parts) {
  Read read{parse_onnx(model(graph_of(parts)), "m.onnx", {})};
  EXPECT_TRUE(!read.graph.ok() || verify(read.graph).empty());
  return read;
}

const Message kIndices = int64s("i", {3}, {2, 0, 1});

TEST(OnnxTexts, NamesPickedByAnIndexAreGivenAsTheIndex) {
  const Read names = read({.nodes = {node("Gather", {"names", "i"}, {"label"})},
                           .outputs = {untyped("label")},
                           .initializers = {strings("names", {3}, {"cat", "dog", "cow"}), kIndices}});
  EXPECT_EQ(names.said(), "m.onnx: output label: remark: is given as indices of texts, as i64: 0 `cat`, 1 `dog`, 2 `cow`\n");
  EXPECT_EQ(names.output("label"), "[2, 0, 1]");
}

TEST(OnnxTexts, LabelsOfAClassifierAreGivenAsTheirIndices) {
  const Read classes = read({.nodes = {node("LinearClassifier", {"x"}, {"label", "scores"},
                                            {.attributes = {number_list("coefficients", {1, 0, 0, 1}), number_list("intercepts", {0, 0}),
                                                            text_list("classlabels_strings", {"left", "right"})},
                                             .domain = std::string(kLearning)})},
                             .outputs = {untyped("label"), untyped("scores")},
                             .initializers = {floats("x", {2, 2}, {1, 2, 4, 3})}});
  EXPECT_NE(classes.said().find("0 `left`, 1 `right`"), std::string::npos) << classes.said();
  EXPECT_EQ(classes.output("label"), "[1, 0]");
  EXPECT_EQ(classes.output("scores"), "[[1.0, 2.0], [4.0, 3.0]]");
}

TEST(OnnxTexts, AreExchangedByTablesWhenTheFileIsRead) {
  const NodeOptions to_text{.attributes = {integers("keys_int64s", {0, 2}), text_list("values_strings", {"zero", "two"})},
                            .domain = std::string(kLearning)};
  const Read one = read({.nodes = {node("LabelEncoder", {"i"}, {"named"}, to_text), node("Reshape", {"named", "shape"}, {"column"})},
                         .outputs = {untyped("column")},
                         .initializers = {kIndices, int64s("shape", {2}, {3, 1})}});
  EXPECT_NE(one.said().find("0 `zero`, 1 `two`, 2 `_Unused`"), std::string::npos) << one.said();
  EXPECT_EQ(one.output("column"), "[[1], [0], [2]]");
}

TEST(OnnxTexts, AResultThatIsTextIsLeftOutIfThereAreOthers) {
  const std::vector<Message> nodes = {node("Gather", {"names", "i"}, {"picked"}), node("StringNormalizer", {"picked"}, {"upper"}),
                                      node("Neg", {"i"}, {"y"})};
  const std::vector<Message> initializers = {strings("names", {3}, {"cat", "dog", "cow"}), kIndices};
  const Read two = read({.nodes = nodes, .outputs = {untyped("upper"), untyped("y")}, .initializers = initializers});
  EXPECT_EQ(two.said(),
            "m.onnx: output upper: remark: left out, since it is text: `StringNormalizer` of the texts `picked` is not supported\n");
  EXPECT_EQ(two.output("y"), "[-2, 0, -1]");
  EXPECT_EQ(two.output("upper"), "no output");
  const Read alone = read({.nodes = nodes, .outputs = {untyped("upper")}, .initializers = initializers});
  EXPECT_EQ(alone.said(), "m.onnx: output upper: error: `StringNormalizer` of the texts `picked` is not supported\n");
}

TEST(OnnxTexts, MapsOfRowsAreTheTensorOfTheirValues) {
  const Read maps =
      read({.nodes = {node("ZipMap", {"x"}, {"y"},
                           {.name = "z", .attributes = {text_list("classlabels_strings", {"a", "b"})}, .domain = std::string(kLearning)})},
            .outputs = {untyped("y")},
            .initializers = {floats("x", {1, 2}, {0.25F, 0.75F})}});
  EXPECT_EQ(maps.said(),
            "m.onnx: node z (ZipMap): remark: `ZipMap` gives its operand as it is, not a map for each row; the labels of "
            "its columns are "
            "0 `a`, 1 `b`\n");
  EXPECT_EQ(maps.output("y"), "[[0.25, 0.75]]");
}

TEST(OnnxTexts, InputsOfTextsAreRefusedWithAdvice) {
  const Read input =
      read({.nodes = {node("Identity", {"s"}, {"y"})}, .inputs = {value_info("s", kString, {2})}, .outputs = {untyped("y")}});
  EXPECT_EQ(input.said(),
            "m.onnx: error: inputs that cleave cannot take: `s` is of string; export the model without the nodes that read it, with "
            "numbers as its input\n");
}

TEST(OnnxTexts, ThatDoNotFillTheirShapeAreAnError) {
  const Read texts =
      read({.nodes = {node("Identity", {"names"}, {"y"})}, .outputs = {untyped("y")}, .initializers = {strings("names", {3}, {"cat"})}});
  EXPECT_EQ(texts.said(), "m.onnx: initializer names: error: tensor `names` holds 1 texts, which is not what its shape [3] has\n");
}

TEST(OnnxTexts, TablesThatDoNotFitTheirOperandAreAnError) {
  const NodeOptions of_texts{
      .name = "l", .attributes = {text_list("keys_strings", {"a"}), integers("values_int64s", {1})}, .domain = std::string(kLearning)};
  const Read keys = read({.nodes = {node("LabelEncoder", {"i"}, {"y"}, of_texts)}, .outputs = {untyped("y")}, .initializers = {kIndices}});
  EXPECT_EQ(keys.said(), "m.onnx: node l (LabelEncoder): error: `LabelEncoder` has texts as keys, and is given numbers\n");
  const NodeOptions short_values{
      .name = "l", .attributes = {integers("keys_int64s", {1, 2}), integers("values_int64s", {1})}, .domain = std::string(kLearning)};
  const Read values =
      read({.nodes = {node("LabelEncoder", {"i"}, {"y"}, short_values)}, .outputs = {untyped("y")}, .initializers = {kIndices}});
  EXPECT_EQ(values.said(), "m.onnx: node l (LabelEncoder): error: `LabelEncoder`: keys, values and the default do not fit\n");
}

}  // namespace
}  // namespace cleave
