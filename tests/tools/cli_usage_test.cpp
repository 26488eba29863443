// Messages about wrong usage of the command line: one style, the nearest valid word, and no output before them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kWaiting = R"(cleave: 1
model: waiting
inputs: {x: "f32[]"}
parameters:
  w: {type: "f32[128, 128]", normal: [0, 0.03], seed: 1}
program:
  - for: step in 100
    do:
      - w: tanh(matmul(w, w)) * x
      - ranked: sort(w, axis=1)
      - w: w - 0.1 * ranked
outputs: [w]
)";

class CliUsageTest : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_.path("m.yaml"), kWaiting); }
  CommandResult cleave(const std::string& arguments) { return run_command("cleave " + arguments, folder_.path("")); }
  TemporaryFolder folder_;
};

TEST_F(CliUsageTest, EachMistakeIsOneLine) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"rnu m.yaml", "there is no command `rnu`; did you mean `run`?"},
      {"explian m.yaml", "there is no command `explian`; did you mean `explain`?"},
      {"version", "there is no command `version`; did you mean `cleave --version`?"},
      {"foo", "there is no command `foo`; there are run, compile, explain, check, apply, dot, print, plan, devices, calibrate, completion"},
      {"help rnu", "there is no command `rnu`; did you mean `run`?"},
      {"m.yaml", "`m.yaml` is no command; did you mean `cleave run m.yaml`?"},
      {"--W", "there is no flag `--W`; `cleave --help` lists the flags"},
      {"run m.yaml --devic none", "there is no flag `--devic`; did you mean `--device`?"},
      {"run m.yaml --inputt=x=1", "there is no flag `--inputt`; did you mean `--input`?"},
      {"run m.yaml --quite", "there is no flag `--quite`; did you mean `--quiet`?"},
      {"run m.yaml --frobnicate", "there is no flag `--frobnicate`; `cleave run --help` lists the flags"},
      {"run m.yaml --lock plan.lock", "`--lock` is a flag of `check`, not of `run`"},
      {"--device none run m.yaml",
       "`--device` is a flag of `run`, `compile`, `explain`, `check`, `apply`, `dot`, `print`, `calibrate`; it stands behind the command"},
      {"run m.yaml --device", "`--device` needs a value: `--device DEVICE`"},
      {"run", "`run` needs a MODEL, a model (.yaml, .onnx), graph (.graph) or compiled plan (.plan)"},
      {"run m.yaml n.yaml", "`run` takes one MODEL, and `n.yaml` is another"},
      {"devices here", "`devices` takes no argument, and `here` is one"},
      {"run m.yaml --placement optimum",
       "--placement: `optimum` is none of optimal, fastest, accelerator, host and onnxruntime; did you mean `optimal`?"},
      {"run m.yaml --color blue", "--color: `blue` is none of auto, always and never"},
      {"run m.yaml --time-limit soon", "--time-limit: `soon` is no positive number of seconds"},
      {"run m.yaml --device cpu", "`--device cpu`: expected auto, none, simulated or cuda[:N]; `none` is this machine's processor alone"},
  };
  for (const auto& [arguments, message] : mistakes) {
    const CommandResult result = cleave(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_EQ(result.err, "error: " + std::string(message) + "\n") << arguments;
    EXPECT_EQ(result.out, "") << arguments;
  }
}

TEST_F(CliUsageTest, HelpIsThereByEveryName) {
  const CommandResult all = cleave("--help"), run = cleave("run --help");
  for (const char* words : {"", "help", "-h"}) {
    const CommandResult help = cleave(words);
    EXPECT_EQ(help.code, 0) << words;
    EXPECT_EQ(help.out, all.out) << words;
    EXPECT_EQ(help.err, "") << words;
  }
  for (const char* words : {"help run", "run -h", "help run m.yaml"}) {
    EXPECT_EQ(cleave(words).code, 0) << words;
    EXPECT_EQ(cleave(words).out, run.out) << words;
  }
  std::size_t last = 0;
  for (const char* group : {"Model", "Device", "Plan", "ONNX", "Run", "Output", "Diagnostics", "Debugging"}) {
    const std::size_t at = run.out.find("\n\n" + std::string(group) + ":\n  -");
    ASSERT_NE(at, std::string::npos) << group << run.out;
    EXPECT_GT(at, last) << group;
    last = at;
  }
  EXPECT_THAT(run.out, Not(HasSubstr("oracle")));
}

TEST_F(CliUsageTest, ValuesMayBeginLikeFlagsAndOperandsFollowTwoDashes) {
  EXPECT_EQ(cleave("check m.yaml -w --placement makespan").code, 0) << "the name that `fastest` had until 0.2";
  EXPECT_EQ(cleave("check --seed -3 -w -- m.yaml").code, 0);
  EXPECT_EQ(cleave("check -Wround-trip m.yaml --dim=n=3").code, 1) << "there is no such dim";
  EXPECT_EQ(cleave("run -w m.yaml --input x=1 --output w=w.npy --profile").code, 0);
}

TEST_F(CliUsageTest, NamesAreCheckedBeforeAnythingIsPlanned) {
  for (const char* arguments : {"--input y=1", "--input x=1 --output v=v.npy", ""}) {
    const CommandResult result = cleave("run m.yaml --placement accelerator " + std::string(arguments));
    EXPECT_EQ(result.code, 1) << arguments;
    EXPECT_THAT(result.err, Not(HasSubstr("warning"))) << arguments;
    EXPECT_THAT(result.err, HasSubstr("error: ")) << arguments;
  }
  EXPECT_THAT(cleave("run m.yaml --placement accelerator --input x=1 -w").out, HasSubstr("simulated"));
}

TEST_F(CliUsageTest, AFileIsNamedOnce) {
  EXPECT_EQ(cleave("run nope.yaml").err, "error: cannot read `nope.yaml`: No such file or directory\n");
  EXPECT_EQ(cleave("check nope.graph").err, "error: cannot read `nope.graph`: No such file or directory\n");
  EXPECT_EQ(cleave("check nope.onnx").err, "error: cannot read `nope.onnx`: No such file or directory\n");
  EXPECT_EQ(cleave("check m.yaml --machine nope.yaml").err,
            "error: `nope.yaml` is neither a shipped machine nor a file that can be read: No such file or directory\n");
}

TEST_F(CliUsageTest, TheFoldersOfAMissingLibraryAreNamed) {
  write_file(folder_.path("l.yaml"),
             "cleave: 1\nhost_functions: {f: {library: l.so, takes: [\"f32[]\"], returns: \"f32[]\"}}\ninputs: {x: \"f32[]\"}\nprogram:\n"
             "  - y: f(x)\noutputs: [y]\n");
  const std::string said = cleave("run l.yaml --input x=1").err;
  EXPECT_THAT(said, HasSubstr("l.yaml:5:8: error: `y`: there is no library `l.so`, nor its file name in `/"));
  EXPECT_THAT(said, HasSubstr("/lib`"));
}

TEST_F(CliUsageTest, AShortWordIsNoMisspeltOne) {
  EXPECT_EQ(cleave("explain m.yaml --node foo").err, "error: the plan has no node `foo`\n");
}

TEST_F(CliUsageTest, WhatRunsOnTheHostAloneIsSaidInShort) {
  write_file(folder_.path("small.yaml"), "cleave: 1\ninputs: {x: \"f32[]\"}\nprogram:\n  - y: x * 2 + 1\noutputs: [y]\n");
  const CommandResult result = cleave("run small.yaml --input x=1");
  EXPECT_THAT(result.out, HasSubstr("\nall 2 operations on the host; predicted "));
  EXPECT_THAT(result.out, HasSubstr("\nall of it ran on the host; simulated time "));
  EXPECT_THAT(result.out, Not(HasSubstr("round trip")));
}

TEST_F(CliUsageTest, TheManualNamesEachChoiceOnce) {
  const std::string page = cleave("completion man").out;
  const std::size_t begin = page.find("\\-\\-precision"), end = page.find(".TP", begin);
  const std::string precision = page.substr(begin, end - begin);
  EXPECT_EQ(precision.find("tf32"), precision.rfind("tf32")) << precision;
}

}  // namespace
}  // namespace cleave::testing
