// Bad ONNX files: each gives one error with a position, nothing crashes or hangs, and no memory is allocated for content that a file merely
// claims to have.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;

std::string mistakes(const std::string& bytes, const std::string& file = "m.onnx") {
  return to_text(parse_onnx(bytes, file).diagnostics, {.color = false, .source = false});
}
std::string mistakes(const GraphParts& parts, std::int64_t version = 18) {
  return mistakes(model(graph_of(parts), version));
}
std::string with_initializer(const Message& tensor) {
  return mistakes({.nodes = {node("Add", {"x", "w"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}, .initializers = {tensor}});
}

TEST(OnnxRobustness, SaysWhereAFileIsNoModel) {
  EXPECT_EQ(mistakes(std::string("not a model at all")), "m.onnx: error: no ONNX model, or a damaged one: malformed at byte 0\n");
  EXPECT_EQ(mistakes(std::string()), "m.onnx: error: the file holds no graph\n");
  const std::string whole = model(graph_of({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}}));
  EXPECT_EQ(mistakes(whole), "");
  EXPECT_EQ(mistakes(whole.substr(0, whole.size() - 20)), "m.onnx: error: no ONNX model, or a damaged one: malformed at byte 2\n");
}

TEST(OnnxRobustness, RefusesVersionsThatItDoesNotKnow) {
  const GraphParts parts{.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}};
  EXPECT_EQ(mistakes(parts, 0), "m.onnx: error: operator set 0 is not one of those that cleave reads, 1 to 28\n");
  EXPECT_EQ(mistakes(parts, 99), "m.onnx: error: operator set 99 is not one of those that cleave reads, 1 to 28\n");
  EXPECT_EQ(mistakes(parts, -1), "m.onnx: error: operator set -1 is not one of those that cleave reads, 1 to 28\n");
}

TEST(OnnxRobustness, NamesWhatIsMissingTwiceOrInACycle) {
  EXPECT_EQ(
      mistakes(
          {.nodes = {node("Relu", {"b"}, {"a"}, {.name = "n"}), node("Relu", {"a"}, {"b"})}, .inputs = {kX}, .outputs = {untyped("b")}}),
      "m.onnx: node n (Relu): error: nodes read each other's results in a cycle, so that none of them can be the first: `n (Relu)`, "
      "`(Relu)`\n");
  EXPECT_EQ(
      mistakes(
          {.nodes = {node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"}, {.name = "n"})}, .inputs = {kX}, .outputs = {untyped("y")}}),
      "m.onnx: node n (Abs): error: `y` is computed twice\n");
  EXPECT_EQ(mistakes({.nodes = {node("Relu", {"q"}, {"y"}, {.name = "n"})}, .inputs = {kX}, .outputs = {untyped("y")}}),
            "m.onnx: node n (Relu): error: `q` is used but not computed: no input, initializer or node of the graph has this name\n");
  EXPECT_EQ(mistakes({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {kX, kX}, .outputs = {untyped("y")}}),
            "m.onnx: input x: error: two inputs have this name\n");
  EXPECT_EQ(mistakes({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("z")}}),
            "m.onnx: output z: error: no node computes this output\n");
  EXPECT_EQ(
      mistakes({.nodes = {node("Relu", {"x"}, {"y"}), node("Relu", {}, {"z"}, {.name = "n"})}, .inputs = {kX}, .outputs = {untyped("y")}}),
      "m.onnx: node n (Relu): error: `Relu` needs its operand 1\n");
}

TEST(OnnxRobustness, ComparesWhatATensorHoldsWithWhatItClaims) {
  const std::string place = "m.onnx: initializer w: error: tensor `w` ";
  EXPECT_EQ(with_initializer(floats("w", {1000, 1000, 1000, 1000}, {1, 2, 3})),
            place + "holds 12 bytes, and f32[1000, 1000, 1000, 1000] has 4000000000000\n");
  EXPECT_EQ(with_initializer(floats("w", {3}, {1, 2, 3, 4})), place + "holds 16 bytes, and f32[3] has 12\n");
  EXPECT_EQ(with_initializer(floats("w", {-1}, {1})), place + "is too large or has a negative extent: [-1]\n");
  EXPECT_EQ(with_initializer(floats("w", {1LL << 40, 1LL << 40}, {1})),
            place + "is too large or has a negative extent: [1099511627776, 1099511627776]\n");
  EXPECT_EQ(with_initializer(Message().varint(1, 1LL << 40).varint(2, kFloat).text(8, "w").fixed32(4, 1)),
            place + "holds 1 values, and its shape [1099511627776] has 1099511627776\n");
  EXPECT_EQ(with_initializer(Message().varint(1, 3).varint(2, kString).text(8, "w")),
            place + "holds 0 texts, which is not what its shape [3] has\n");
  EXPECT_EQ(with_initializer(Message().varint(1, 3).varint(2, 999).text(8, "w")),
            place + "has elements of type 999, which cleave does not have\n");
  EXPECT_EQ(with_initializer(Message().varint(1, 1).varint(2, kBool).text(8, "w").text(9, "\x02")),
            place + "holds a bool that is neither 0 nor 1\n");
}

Message external(std::string_view location, std::string_view offset, std::string_view length) {
  return Message()
      .varint(1, 3)
      .varint(2, kFloat)
      .text(8, "w")
      .varint(14, 1)
      .message(13, Message().text(1, "location").text(2, location))
      .message(13, Message().text(1, "offset").text(2, offset))
      .message(13, Message().text(1, "length").text(2, length));
}

TEST(OnnxRobustness, ReadsExternalDataInTheModelsFolderOnly) {
  const test::TemporaryFolder folder;
  const std::string place = folder.path("m.onnx") + ": initializer w: error: tensor `w` ";
  folder.write("w.data", std::string("....", 4) + std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12));
  std::filesystem::create_symlink("w.data", folder.path("link.data"));
  std::filesystem::create_symlink("/etc/passwd", folder.path("out.data"));
  const auto read = [&](const Message& tensor) {
    return mistakes(
        model(graph_of({.nodes = {node("Add", {"x", "w"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}, .initializers = {tensor}})),
        folder.path("m.onnx"));
  };
  EXPECT_EQ(read(external("w.data", "4", "12")), "");
  EXPECT_EQ(read(external("w.data", "8", "12")), place + "reaches beyond the end of its external data `w.data`\n");
  EXPECT_EQ(read(external("w.data", "18446744073709551615", "12")), place + "does not say where its external data lie\n");
  EXPECT_EQ(read(external("w.data", "4", "8")), place + "has 8 bytes of external data, and f32[3] has 12\n");
  EXPECT_EQ(read(external("link.data", "4", "12")), "") << "a link that stays in the folder";
  for (const std::string name : {"../w.data", "a/../../w.data", "/etc/passwd", "out.data"})
    EXPECT_EQ(read(external(name, "4", "12")),
              place + "has external data that cannot be had: `" + name + "` lies outside of the model's folder\n");
  EXPECT_EQ(read(external("none.data", "4", "12")),
            place + "has external data that cannot be had: cannot read `" + folder.path("none.data") + "`: No such file or directory\n");
}

/// The Hugging Face cache stores a model and its data as links to files elsewhere in its tree.
TEST(OnnxRobustness, ReadsAModelAndItsDataThroughTheLinksOfACache) {
  const test::TemporaryFolder folder;
  for (const char* each : {"snapshots", "snapshots/5f1", "blobs"}) std::filesystem::create_directory(folder.path(each));
  folder.write("blobs/aa", model(graph_of({.nodes = {node("Add", {"x", "w"}, {"y"})},
                                           .inputs = {kX},
                                           .outputs = {untyped("y")},
                                           .initializers = {external("model.onnx_data", "0", "12")}})));
  folder.write("blobs/bb", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12));
  std::filesystem::create_symlink("../../blobs/aa", folder.path("snapshots/5f1/model.onnx"));
  std::filesystem::create_symlink("../../blobs/bb", folder.path("snapshots/5f1/model.onnx_data"));
  const Graph graph = read_model(folder.path("snapshots/5f1/model.onnx"));
  EXPECT_EQ(to_text(graph.diagnostics), "");
  EXPECT_TRUE(graph.ok());
}

TEST(OnnxRobustness, ShowsNoLineOfAFileOutsideThatAStackTraceNames) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("model"));
  folder.write("model/net.py", "line one\nself.beside(x)\n");
  const std::string secret = folder.write("secret", "PASSWORD one\nPASSWORD two\n");
  const auto text = [&](const std::string& source) {
    const std::string trace = "File \"" + source + "\", line 2, in forward\n    x";
    folder.write(
        "model/m.onnx",
        model(graph_of({.nodes = {node("NoSuchOp", {"x"}, {"y"}, {.stack_trace = trace})}, .inputs = {kX}, .outputs = {untyped("y")}})));
    return to_text(read_model(folder.path("model/m.onnx")).diagnostics);
  };
  EXPECT_NE(text("net.py").find("self.beside(x)"), std::string::npos);
  EXPECT_NE(text(folder.path("model/net.py")).find("self.beside(x)"), std::string::npos);
  for (const std::string& source : {secret, std::string("../secret"), folder.path("model/../secret")}) {
    EXPECT_NE(text(source).find(":2: "), std::string::npos) << "the place itself is said: " << text(source);
    EXPECT_EQ(text(source).find("PASSWORD"), std::string::npos) << text(source);
  }
}

Message nested(int depth) {
  Message inner = graph_of({.nodes = {node("Relu", {"x"}, {"r"})}, .outputs = {untyped("r")}});
  for (int i = 0; i < depth; ++i)
    inner = graph_of({.nodes = {node("If", {"c"}, {"r"},
                                     {.attributes = {graph_attribute("then_branch", inner), graph_attribute("else_branch", Message())}})},
                      .outputs = {untyped("r")}});
  return inner;
}

TEST(OnnxRobustness, RefusesGraphsInsideOfGraphsBeyondAnyUse) {
  EXPECT_EQ(mistakes(model(nested(testing::kSanitized ? 1000 : 10'000))), "m.onnx: error: graphs lie deeper inside each other than 64\n");
}

TEST(OnnxRobustness, EndsWhereFunctionsCallEachOtherWithoutEnd) {
  const auto function = [](const char* name, const char* calls) {
    Message message =
        Message().text(1, name).text(10, "local").text(4, "a").text(5, "c").message(9, opset("", 18)).message(9, opset("local", 1));
    return message.message(7, node(calls, {"a"}, {"b"}, {.domain = "local"})).message(7, node(calls, {"b"}, {"c"}, {.domain = "local"}));
  };
  const Message main = graph_of({.nodes = {node("F0", {"x"}, {"y"}, {.domain = "local"})}, .inputs = {kX}, .outputs = {untyped("y")}});
  EXPECT_NE(mistakes(model(main, 18, {function("F0", "F0")})).find("functions call each other too deeply, or without an end"),
            std::string::npos);
  if (testing::kSanitized) return;  // the calls that follow end after two million nodes
  std::vector<Message> twice;       // 2^50 calls in all
  for (int i = 0; i < 50; ++i) twice.push_back(function(("F" + std::to_string(i)).c_str(), ("F" + std::to_string(i + 1)).c_str()));
  twice.push_back(Message()
                      .text(1, "F50")
                      .text(10, "local")
                      .text(4, "a")
                      .text(5, "c")
                      .message(9, opset("", 18))
                      .message(7, node("Relu", {"a"}, {"c"})));
  EXPECT_NE(mistakes(model(main, 18, twice)).find("the file's functions and inner graphs become too many nodes"), std::string::npos);
}

TEST(OnnxRobustness, ReadsAMillionNodes) {
  constexpr int kNodes = testing::kSanitized ? 10'000 : 1'000'000;
  Message chain;
  std::string from = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string to = "v" + std::to_string(i);
    chain.message(1, node("Neg", {from}, {to}));
    from = to;
  }
  chain.message(11, kX).message(12, untyped(from));
  const Graph graph = parse_onnx(model(chain), "m.onnx");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.nodes.size(), std::size_t{kNodes} + 1);
}

// Any byte may be any other: never a crash, and an error has a text.
TEST(OnnxRobustness, SurvivesMutations) {
  const Message body = graph_of({.nodes = {node("Add", {"a", "w"}, {"next"}), node("Identity", {"go"}, {"again"})},
                                 .inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}), untyped("a")},
                                 .outputs = {untyped("again"), untyped("next"), untyped("next")}});
  const std::string whole =
      model(graph_of({.nodes = {node("Loop", {"n", "", "x"}, {"y", "z"}, {.attributes = {graph_attribute("body", body)}}),
                                node("Shape", {"x"}, {"s"}), node("Reshape", {"y", "s"}, {"r"})},
                      .inputs = {kX},
                      .outputs = {untyped("r"), untyped("z")},
                      .initializers = {floats("w", {3}, {1, 2, 3}), int64s("n", {}, {5})}}));
  ASSERT_EQ(mistakes(whole), "");
  std::mt19937 random(20'261'123);
  for (int round = 0; round < draws(3000); ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const Graph graph = parse_onnx(bytes, "m.onnx");
    EXPECT_TRUE(graph.ok() || !to_text(graph.diagnostics, {}).empty()) << "round " << round;
  }
}

}  // namespace
}  // namespace cleave
