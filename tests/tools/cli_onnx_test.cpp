// ONNX models on the command line: every command accepts them, and the flags that are specific to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/array/npy.h"
#include "tests/support/command.h"
#include "tests/support/json_schema.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave::testing {
namespace {

using namespace onnx_file;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CliOnnxTest : public ::testing::Test {
 protected:
  CliOnnxTest() {
    write_file(folder_.path("m.onnx"),
               model(graph_of({.nodes = {node("Add", {"x", "w"}, {"a"}), node("Reshape", {"a", "s"}, {"y"}, {.name = "fold"})},
                               .inputs = {value_info("x", kFloat, {-2, 2}), value_info("s", kInt64, {1})},
                               .outputs = {untyped("y")},
                               .initializers = {floats("w", {2}, {10, 20})}})));
  }
  CommandResult run(const std::string& arguments) { return run_command("cleave " + arguments, folder_.path("")); }
  TemporaryFolder folder_;
};

TEST_F(CliOnnxTest, EveryCommandTakesAModel) {
  const std::string flags = " m.onnx --dim batch=2 --constant 's=[4]'";
  EXPECT_EQ(run("run" + flags + " --input 'x=[[1, 2], [3, 4]]' --quiet").out, "y: [11.0, 22.0, 13.0, 24.0]\n");
  EXPECT_EQ(run("check" + flags).code, 0);
  EXPECT_THAT(run("explain" + flags).out, HasSubstr("model `g`"));
  EXPECT_THAT(run("dot" + flags).out, HasSubstr("digraph"));
  EXPECT_THAT(run("print" + flags + " --stage traced").out, HasSubstr("reshape"));
}

TEST_F(CliOnnxTest, TakesOpenSizesFromAnInputThatIsAFile) {
  ASSERT_TRUE(write_npy(folder_.path("x.npy"), Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})).ok());
  EXPECT_EQ(run("run m.onnx --constant 's=[6]' --input x=x.npy --quiet").out, "y: [11.0, 22.0, 13.0, 24.0, 15.0, 26.0]\n");
}

TEST_F(CliOnnxTest, SavesAndLoadsWeightsThatAreParameters) {
  const std::string flags = " m.onnx --dim batch=2 --constant 's=[4]' --parameters all --input 'x=[[1, 2], [3, 4]]' --quiet";
  const CommandResult first = run("run" + flags + " --param 'w=[0, 1]' --save states");
  EXPECT_EQ(first.out, "y: [1.0, 3.0, 3.0, 5.0]\nw: [0.0, 1.0]\n") << first.err;
  EXPECT_EQ(run("run" + flags + " --load states").out, first.out);
  EXPECT_EQ(run("run" + flags).out, "y: [11.0, 22.0, 13.0, 24.0]\nw: [10.0, 20.0]\n");
  EXPECT_EQ(run("check m.onnx --parameters 'v*'").err, "m.onnx: error: --parameters: no initializer matches `v*`; there are `w`\n");
}

TEST_F(CliOnnxTest, TakesFunctionsOfLibrariesForOperators) {
  const Message scale =
      node("Scale", {"x", ""}, {"y"},
           {.name = "n", .attributes = {text("title", "four"), integers("shift", {7, 100}), number("by", 2)}, .domain = "acme"});
  write_file(folder_.path("s.onnx"),
             model(graph_of({.nodes = {scale}, .inputs = {value_info("x", kFloat, {-2})}, .outputs = {untyped("y")}})));
  write_file(folder_.path("typed.onnx"),
             model(graph_of({.nodes = {scale}, .inputs = {value_info("x", kFloat, {-2})}, .outputs = {value_info("y", kFloat, {-2})}})));
  const std::string library = binary_dir() + "/tests/libcleave_faulty_functions.so";
  const std::string flag = " --dim batch=2 --host-function acme.Scale=" + library + ":scale_operator";
  EXPECT_EQ(run("run typed.onnx --input x='[1, 2]' --quiet" + flag).out, "y: [106.0, 108.0]\n");
  EXPECT_EQ(run("run s.onnx --input x='[1, 2]' --quiet" + flag + ":'f32[batch]'").out, "y: [106.0, 108.0]\n");
  EXPECT_EQ(run("check typed.onnx --dim batch=2 --host-function acme.Scale=none.so:f").code, 0) << "a plan loads no library";
  EXPECT_THAT(run("explain typed.onnx" + flag).out, HasSubstr("host_call  y  f32[2]"));
  const CommandResult without = run("run typed.onnx --input x='[1, 2]' --dim batch=2");
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr("the operator `acme.Scale` is not supported"));
  EXPECT_THAT(without.err, HasSubstr("--host-function acme.Scale=LIBRARY.so:SYMBOL"));
  EXPECT_THAT(run("run s.onnx --input x='[1, 2]'" + flag).err, HasSubstr("the file does not state the whole type of `y`"));
  const CommandResult missing = run("run typed.onnx --input x='[1, 2]' --dim batch=2 --host-function acme.Scale=" + library + ":absent");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("has no function `absent`"));
  for (const char* wrong :
       {"acme.Scale", "acme.Scale=lib.so", "acme.Scale=:f", "acme.Scale=lib.so:", "acme.Scale=lib.so:f:f32[2", "=lib.so:f"})
    EXPECT_EQ(run(std::string("check typed.onnx --host-function '") + wrong + "'").code, 2) << wrong;
}

TEST_F(CliOnnxTest, SaysWhichFlagsAreMissing) {
  const CommandResult open = run("check m.onnx");
  EXPECT_EQ(open.code, 1);
  EXPECT_EQ(open.err, "m.onnx: error: sizes are open: `x` axis 0 (batch); give them with --dim batch=N\n");
  EXPECT_THAT(run("check m.onnx --shape x=2,?").err, HasSubstr("m.onnx: node fold (Reshape): error: `Reshape` needs `s` to be known"));
  EXPECT_THAT(run("check m.onnx --shape x=2,?").err, HasSubstr("--constant s=VALUE"));
}

TEST_F(CliOnnxTest, RefusesFlagsThatMeanNothing) {
  write_file(folder_.path("m.yaml"), "cleave: 1\nprogram:\n  - y: zeros([2])\noutputs: [y]\n");
  for (const char* flag :
       {"--shape x=1", "--constant x=1", "--bound x=1", "--parameters all", "--placement onnxruntime", "--accelerator-ops ort-cuda-1.23"}) {
    const CommandResult result = run(std::string("check m.yaml ") + flag);
    EXPECT_EQ(result.code, 1) << flag;
    EXPECT_THAT(result.err, HasSubstr("is for ONNX models")) << flag;
  }
  EXPECT_EQ(run("check m.onnx --shape x=two").code, 2);
  EXPECT_EQ(run("check m.onnx --bound fold=-1").code, 2);
  EXPECT_EQ(run("check m.onnx --accelerator-ops tensorrt").code, 2);
}

TEST_F(CliOnnxTest, CarriesAStateFromRunToRun) {
  write_file(folder_.path("s.onnx"),
             model(graph_of({.nodes = {node("Add", {"past", "x"}, {"present"}),
                                       node("Concat", {"past", "x"}, {"longer"}, {.attributes = {integer("axis", 0)}})},
                             .inputs = {value_info("past", kFloat, {2}), value_info("x", kFloat, {2})},
                             .outputs = {untyped("present"), untyped("longer")}})));
  EXPECT_THAT(run("run s.onnx --input past=0 --input 'x=[1, 2]' --runs 3 --state past=present --quiet").out,
              HasSubstr("present: [3.0, 6.0]\n"));
  EXPECT_THAT(run("run s.onnx --input past=0 --input 'x=[1, 2]' --runs 3 --state past=present --placement accelerator --quiet").out,
              HasSubstr("present: [3.0, 6.0]\n"));
  EXPECT_THAT(run("explain s.onnx --state past=present --placement accelerator").out, HasSubstr("stays here from run to run"));
  EXPECT_THAT(run("run s.onnx --input past=0 --input x=1 --state past=longer").err,
              HasSubstr("--state past=longer: a state keeps its type, and this one goes in as f32[2] and comes out as f32[4]"));
  EXPECT_THAT(run("run s.onnx --input past=0 --input x=1 --state pas=present").err,
              HasSubstr("the model has no input `pas`; did you mean `past`?"));
}

TEST_F(CliOnnxTest, ShowsWhatOnnxRuntimeWouldCopy) {
  write_file(folder_.path("u.onnx"),
             model(graph_of({.nodes = {node("Relu", {"x"}, {"a"}, {.name = "first"}), node("Det", {"a"}, {"b"}, {.name = "second"}),
                                       node("Relu", {"b"}, {"y"}, {.name = "third"})},
                             .inputs = {value_info("x", kFloat, {4, 8, 8})},
                             .outputs = {untyped("y")}}),
                   22));
  const CommandResult text = run("explain u.onnx --placement onnxruntime");
  EXPECT_THAT(text.out,
              HasSubstr("by ONNX Runtime's rule, 1 of 3 nodes of the file on the host, and 2 copies of 1.0 KiB between its nodes\n"
                        "    to the host         `a`, 1.0 KiB, from first (Relu) for second (Det)\n"
                        "    to the accelerator  `b`, 16 B, from second (Det) for third (Relu)\n"))
      << text.err;
  const JsonSchema schema("explain");
  const json document = json::parse(run("explain u.onnx --placement onnxruntime --json").out);
  EXPECT_THAT(schema.faults(document), IsEmpty());
  EXPECT_EQ(document["onnxruntime"]["copies"].size(), 2U);
  EXPECT_EQ(document["onnxruntime"]["placed"]["copies"], 2);
}

// Operations without an ONNX Runtime kernel are on the host for this reason, and not because of a pin.
TEST_F(CliOnnxTest, SaysThatOnnxRuntimeHasNoKernel) {
  write_file(
      folder_.path("k.onnx"),
      model(graph_of({.nodes = {node("MatMul", {"x", "x"}, {"a"}, {.name = "first"}), node("Hardmax", {"a"}, {"b"}, {.name = "second"}),
                                node("MatMul", {"b", "b"}, {"y"}, {.name = "third"})},
                      .inputs = {value_info("x", kFloat, {512, 512})},
                      .outputs = {untyped("y")}}),
            22));
  const std::string flags = " k.onnx --accelerator-ops ort-cuda-1.23 --machine h200 --device simulated";
  const std::string none = "ONNX Runtime has no CUDA kernel for `Hardmax` (f32)";
  const CommandResult check = run("check" + flags + " -Wfallback");
  EXPECT_THAT(check.err, HasSubstr("runs on the host because " + none + "; one would save about "));
  EXPECT_THAT(check.err, HasSubstr("runs on the host only because " + none));
  EXPECT_THAT(run("explain" + flags + " --node b").out, HasSubstr(", because " + none));
  EXPECT_THAT(run("dot" + flags).out, HasSubstr("on the host because the accelerator has no kernel for it"));
  EXPECT_THAT(run("explain" + flags + " --json").out, HasSubstr("\"cause\": \"no-kernel\""));
  for (const std::string command : {"check", "explain --json", "explain --node b", "dot", "explain --placement onnxruntime"}) {
    const CommandResult result = run(command + flags);
    EXPECT_THAT(result.err + result.out, Not(ContainsRegex("the pin|its pin|is pinned"))) << command;
  }
}

}  // namespace
}  // namespace cleave::testing
