// Names with line breaks and other control characters, in everything that has a name: each command prints as many lines as with ordinary
// names, and no name starts a line of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave::testing {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;

const std::string kForged = "all checks passed";
/// The bytes of a hostile name, and its form in the text of graphs.
const std::string kHostile = "na\nme: 1.0\n" + kForged + "\r\x1b[31m";
const std::string kHostileText = R"(na\x0ame: 1.0\x0a)" + kForged + R"(\x0d\x1b[31m)";
const std::string kTame = "name: 1.0  all checks passed";

std::ptrdiff_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// Whether any line begins with the text that the name tries to forge; progress output after `\r` counts as a line.
bool forged(const std::string& text) {
  static const std::regex kLine("(^|[\n\r])[ ]*" + kForged);
  return std::regex_search(text, kLine) || text.find("\x1b[31m") != std::string::npos;
}

constexpr const char* kMachine = R"(
provenance: assumed
host:
  flops: {f32: 1.0e11, f64: 5.0e10, i32: 5.0e10, i64: 5.0e10}
  bytes_per_second: 1.0e10
  overhead_seconds: 5.0e-7
  memory_bytes: 16GiB
accelerators:
  - name: simulated
    flops: {f32: 1.0e13, bf16: 1.0e14, f64: 5.0e12, i32: 5.0e12, i64: 5.0e12}
    bytes_per_second: 1.0e12
    overhead_seconds: 5.0e-6
    memory_bytes: 16GiB
    control_flow: none
    link:
      host_to_accelerator: {latency_seconds: 1.0e-5, bytes_per_second: 1.2e10}
      accelerator_to_host: {latency_seconds: 1.0e-5, bytes_per_second: 1.2e10}
)";

class HostileNamesTest : public ::testing::Test {
 protected:
  /// A program in which everything is called `name`.
  static std::string graph(const std::string& name) {
    const std::string q = "\"" + name + "\"";
    return "cleave-graph 1\nname " + q + "\nfile 0 " + q + "\nscope 0 " + q + " @0:1:1\n" +  //
           "%0 " + q + " = input : f32[64, 64] @0:2:1\n" +                                   //
           "%1 \"p" + name + "\" = parameter {value=2.0} : f32[64, 64] @0:3:1\n" +           //
           "for {count=3} expected 3.0 @0:4:1 {\n" +                                         //
           "  %2 " + q + " = counter : i32[] @0:4:1\n" +                                     //
           "  %3 " + q + ", %4 " + q + " = carried(%0, %7) : f32[64, 64] @0:4:1\n" +         //
           "  %5 " + q + " = matmul(%3, %1) : f32[64, 64] @0:5:1/0\n" +                      //
           "  %6 " + q + " = sort(%5) {axis=1, descending=false} : f32[64, 64] pin host allow implicit-copy " + q + " @0:6:1/0\n" +
           "  print(%6) {label=" + q + "} @0:7:1/0\n" + "  %7 " + q + " = tanh(%6) : f32[64, 64] @0:8:1/0\n" + "}\n" + "output " + q +
           " %4 @0:9:1\n" + "output \"p" + name + "\" %1 @0:9:1\n";
  }

  /// Runs `cleave arguments` with ordinary and with hostile names, and compares the outputs; `MODEL` and `MACHINE` stand for the files.
  void compare(const std::string& arguments, int code = 0) {
    CommandResult results[2];
    for (const bool hostile : {false, true}) {
      const TemporaryFolder folder;
      const std::string file = hostile ? "m\n" + kForged : "m  " + kForged;
      write_file(folder.path(file + ".graph"), graph(hostile ? kHostileText : kTame));
      write_file(folder.path("machine.yaml"), "machine: \"" + (hostile ? kHostileText : kTame) + "\"" + kMachine);
      std::string command = arguments;
      for (std::size_t at; (at = command.find("MODEL")) != std::string::npos;) command.replace(at, 5, "$'" + escaped(file) + ".graph'");
      results[hostile ? 1 : 0] =
          run_command("cleave " + command + " --color never; code=$?; cat page.html 2>/dev/null; exit $code", folder.path(""));
    }
    const auto& [tame, hostile] = results;
    EXPECT_EQ(tame.code, code) << arguments << "\n" << tame.err;
    EXPECT_EQ(hostile.code, code) << arguments << "\n" << hostile.err;
    EXPECT_EQ(lines(tame.out), lines(hostile.out)) << arguments << "\n" << hostile.out;
    EXPECT_EQ(lines(tame.err), lines(hostile.err)) << arguments << "\n" << hostile.err;
    EXPECT_FALSE(forged(hostile.out)) << arguments << "\n" << hostile.out;
    EXPECT_FALSE(forged(hostile.err)) << arguments << "\n" << hostile.err;
  }

  static std::string escaped(const std::string& text) { return std::regex_replace(text, std::regex("\n"), "\\n"); }
};

TEST_F(HostileNamesTest, ForgeNoLineOfAPlan) {
  for (const std::string command :
       {"check MODEL -Wall -Wextra", "explain MODEL --machine machine.yaml", "explain MODEL --placement accelerator -Wall",
        "explain MODEL --node 5", "explain MODEL --advise", "explain MODEL --sensitivity --machine machine.yaml", "dot MODEL",
        "dot MODEL --full --machine machine.yaml", "print MODEL --stage traced", "print MODEL --stage simplified",
        "print MODEL --stage placed", "print MODEL --stage partitioned", "check MODEL --diagnostics sarif -Wall -Wextra",
        "check MODEL --json -Wall", "explain MODEL --json", "explain MODEL --html page.html", "check MODEL --print-after drop-dead"})
    compare(command + " --device simulated");
  compare("check MODEL --lock lock --update-lock --device simulated");
  compare("explain MODEL --json --device simulated > old.json; cleave explain MODEL --diff old.json --placement host --device simulated");
}

TEST_F(HostileNamesTest, ForgeNoLineOfARun) {
  for (const std::string flags : {"", " --profile=-", " --verify", " --json", " --device none", " --machine machine.yaml --profile=-"})
    compare("run MODEL" + flags + (flags.find("device") == std::string::npos ? " --device simulated" : ""), 1);  // its input is not given
}

TEST_F(HostileNamesTest, ForgeNoLineOfARunWithValues) {
  for (const bool hostile : {false, true}) {
    const TemporaryFolder folder;
    write_file(folder.path("m.graph"), graph(hostile ? kHostileText : kTame));
    write_file(folder.path("x.csv"), "1\n");
    const std::string name = hostile ? "$'" + escaped(kHostile) + "'" : "'" + kTame + "'";
    for (const std::string flags : {"", " --profile=-", " --verify", " --runs 2"}) {
      const CommandResult result =
          run_command("cleave run m.graph --device simulated --color never --input " + name + "=1" + flags, folder.path(""));
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_FALSE(forged(result.out)) << result.out;
      EXPECT_FALSE(forged(result.err)) << result.err;
      EXPECT_THAT(result.out, HasSubstr(hostile ? kHostileText + ": [[" : kTame + ": [["));
    }
    const CommandResult unknown = run_command("cleave run m.graph --input y=1 --color never", folder.path(""));
    EXPECT_EQ(unknown.code, 1);
    EXPECT_EQ(lines(unknown.err), 1) << unknown.err;
  }
}

/// The case of the original report.
TEST_F(HostileNamesTest, OfAnOutputForgeNoLine) {
  const TemporaryFolder folder;
  write_file(folder.path("m.onnx"), model(graph_of({.nodes = {node("Add", {"x", "x"}, {"y: 1.0\nall checks passed"})},
                                                    .inputs = {value_info("x", kFloat, {1})},
                                                    .outputs = {untyped("y: 1.0\nall checks passed")}})));
  const CommandResult result = run_command("cleave run m.onnx --input x=1 --quiet", folder.path(""));
  EXPECT_EQ(result.out, "y: 1.0\\x0aall checks passed: [2.0]\n");
}

TEST_F(HostileNamesTest, OfWhatAnOnnxFileHoldsForgeNoLine) {
  const std::string bad = "a\nm.onnx: all is well";
  const auto check = [&](const GraphParts& parts) {
    const TemporaryFolder folder;
    write_file(folder.path("m.onnx"), model(graph_of(parts)));
    const CommandResult result = run_command("cleave check m.onnx --color never -Wall", folder.path(""));
    EXPECT_THAT(result.err + result.out, HasSubstr("a\\x0am.onnx: all is well"));
    EXPECT_EQ(("\n" + result.err + result.out).find("\nm.onnx: all is well"), std::string::npos) << result.err;
  };
  const Message x = value_info("x", kFloat, {2});
  check({.nodes = {node(bad, {"x"}, {"y"})}, .inputs = {x}, .outputs = {untyped("y")}});
  check({.nodes = {node("NoSuchOp", {"x"}, {"y"}, {.name = bad})}, .inputs = {x}, .outputs = {untyped("y")}});
  check({.nodes = {node("Relu", {bad}, {"y"})}, .inputs = {x}, .outputs = {untyped("y")}});
  check({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x}, .outputs = {untyped(bad)}});
  check({.nodes = {node("Add", {"x", "w"}, {"y"})}, .inputs = {x}, .outputs = {untyped("y")}, .initializers = {floats(bad, {-1}, {1})}});
  check({.nodes = {node("NoSuchOp", {"x"}, {"y"}, {.stack_trace = "File \"" + bad + "\", line 2, in " + "f\n x"})},
         .inputs = {x},
         .outputs = {untyped("y")}});
}

TEST_F(HostileNamesTest, OfAYamlModelForgeNoLine) {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& text) {
    write_file(folder.path("m.yaml"), "cleave: 1\n" + text);
    const CommandResult result = run_command("cleave check m.yaml --color never", folder.path(""));
    EXPECT_FALSE(forged(result.err)) << result.err;
    EXPECT_FALSE(forged(result.out)) << result.out;
  };
  const std::string name = "\"a\\nall checks passed\"";
  check("model: " + name + "\ninputs: {x: \"f32[2]\"}\nprogram:\n  - y: x\noutputs: [y]\n");
  check("inputs: {" + name + ": \"f32[2]\"}\nprogram:\n  - y: x\noutputs: [y]\n");
  check("inputs: {x: \"f32[2]\"}\nprogram:\n  - y: x\noutputs: [" + name + "]\n");
  check("dims: {" + name + ": 2}\ninputs: {x: \"f32[2]\"}\nprogram:\n  - y: x\noutputs: [y]\n");
  check("inputs: {x: {type: \"f32[2]\", file: " + name + "}}\nprogram:\n  - y: x\noutputs: [y]\n");
  check("host_functions: {f: {library: " + name + ", symbol: s, takes: [], returns: \"f32[]\"}}\nprogram:\n  - y: f(1)\noutputs: [y]\n");
}

}  // namespace
}  // namespace cleave::testing
