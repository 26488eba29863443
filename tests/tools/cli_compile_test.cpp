// `cleave compile`, and the commands that take a plan file in place of a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kModel = R"(cleave: 1
dims: {n: 4}
inputs: {x: "f32[n, 64]"}
parameters: {w: {type: "f32[64, 64]", uniform: [-1, 1]}}
program:
  - for: i in 3
    do:
      - x: tanh(matmul(x, w))
      - x: sort(x)
outputs: [x]
)";

/// A folder with a model, its plan, and an input.
class CliCompile : public ::testing::Test {
 protected:
  CliCompile() {
    folder_.write("model.yaml", kModel);
    const CommandResult made = run("cleave compile model.yaml -o model.plan --device simulated");
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("model.plan: "));
  }
  CommandResult run(const std::string& command) { return run_command(command, folder_.path("")); }

  const TemporaryFolder folder_;
};

std::string zeros(const std::string& rows) {
  return "python3 -c \"import json; json.dump([[i / 64 for i in range(64)]] * " + rows + ", open('x.json', 'w'))\" && ";
}

TEST_F(CliCompile, RunsAPlanAsTheModel) {
  const std::string input = zeros("4") + "cleave run ";
  const std::string flags = " --input x=\"$(cat x.json)\" --quiet --output x=";
  ASSERT_EQ(run(input + "model.yaml --device simulated" + flags + "a.npy").code, 0);
  const CommandResult result = run(input + "model.plan" + flags + "b.npy");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(folder_.read("a.npy"), folder_.read("b.npy"));
  const CommandResult verified = run(input + "model.plan --verify --runs 3 --threads 1 --json" + flags + "c.npy");
  ASSERT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(folder_.read("a.npy"), folder_.read("c.npy"));
}

TEST_F(CliCompile, ThePlanExplainsItselfAsTheModelDoes) {
  const json model = json::parse(run("cleave explain model.yaml --device simulated --json").out);
  const json plan = json::parse(run("cleave explain model.plan --json").out);
  for (const char* part : {"nodes", "transfers", "round_trips", "totals"}) EXPECT_EQ(model[part], plan[part]) << part;
  EXPECT_EQ(run("cleave dot model.plan").out, run("cleave dot model.yaml --device simulated").out);
  EXPECT_EQ(run("cleave print model.plan --stage partitioned").out,
            run("cleave print model.yaml --device simulated --stage partitioned").out);
  EXPECT_EQ(run("cleave print model.plan").out, run("cleave print model.yaml --device simulated").out);
  EXPECT_THAT(run("cleave explain model.plan --node x").out, HasSubstr("sort"));
  EXPECT_EQ(run("cleave explain model.plan --sensitivity").code, 0);
  EXPECT_EQ(run("cleave check model.plan --certify").code, 0);
  EXPECT_THAT(run("cleave explain model.plan --time-passes").err, HasSubstr("transfers-and-split"));
}

TEST_F(CliCompile, ChecksOfWhichModelAPlanIs) {
  EXPECT_EQ(run("cleave check model.plan --compiled-from model.yaml").code, 0);
  const CommandResult larger = run("cleave check model.plan --compiled-from model.yaml --dim n=5");
  EXPECT_EQ(larger.code, 1);
  EXPECT_THAT(larger.err, HasSubstr("error: model.plan: the plan was made of another model, or with other sizes"));
  std::string text = kModel;
  text.replace(text.find("tanh"), 4, "relu");
  folder_.write("model.yaml", text);
  EXPECT_EQ(run("cleave check model.plan --compiled-from model.yaml").code, 1);
  EXPECT_EQ(run("cleave check model.yaml --compiled-from model.yaml").code, 2);
  EXPECT_EQ(run("cleave run model.plan --input x=0 --quiet").code, 0);  // the plan runs without its model
  EXPECT_THAT(run("cleave run model.plan --input z=0").err, HasSubstr("`z`"));
}

TEST_F(CliCompile, RefusesFlagsThatOnlyPlanningKnows) {
  for (const char* flag : {"--dim n=8", "--placement host", "--workers 2", "--precision tf32", "--keep all", "--accelerator-memory 1GiB",
                           "--disable-pass refine", "--seed 3", "--print-after costs"}) {
    const CommandResult result = run("cleave run model.plan " + std::string(flag));
    EXPECT_EQ(result.code, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr("`model.plan` is planned already; `cleave compile` takes this flag"));
  }
  EXPECT_EQ(run("cleave explain model.plan --advise").code, 2);
  EXPECT_THAT(run("cleave apply model.plan 1234").err, HasSubstr("`model.plan` is no YAML model"));
  EXPECT_THAT(run("cleave compile model.plan -o other.plan").err, HasSubstr("a compiled plan is no model"));
  EXPECT_THAT(run("cleave print model.plan --stage traced").err, HasSubstr("simplified program only"));
}

TEST_F(CliCompile, NeedsAFileThatEndsInPlan) {
  EXPECT_THAT(run("cleave compile model.yaml").err, HasSubstr("needs the file to write: -o FILE.plan"));
  const CommandResult other = run("cleave compile model.yaml -o model.bin");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("-o model.bin: expected a file that ends in .plan"));
  EXPECT_EQ(run("cleave compile model.yaml -o none/model.plan").code, 1);
}

TEST_F(CliCompile, ADamagedPlanIsOneError) {
  std::string bytes = folder_.read("model.plan");
  folder_.write("cut.plan", std::string_view(bytes).substr(0, bytes.size() / 2));
  for (const char* command : {"run", "explain", "check", "dot", "print"}) {
    const CommandResult cut = run("cleave " + std::string(command) + " cut.plan");
    EXPECT_EQ(cut.code, 1) << command;
    EXPECT_THAT(cut.err, HasSubstr("error: cut.plan: this plan file is cut off"));
    EXPECT_EQ(std::count(cut.err.begin(), cut.err.end(), '\n'), 1) << cut.err;
  }
  const json document = json::parse(run("cleave run cut.plan --json").out);
  EXPECT_EQ(document["diagnostics"].size(), 1U);
  bytes.back() = static_cast<char>(bytes.back() + 1);
  folder_.write("data.plan", bytes);
}

TEST_F(CliCompile, FunctionsOfLibrariesAreNamedAndLoadedByRunsOnly) {
  folder_.write("calls.yaml",
                "cleave: 1\nhost_functions:\n  f: {library: gone.so, symbol: f, takes: [\"f32[4]\"], returns: \"f32[4]\"}\n"
                "inputs: {x: \"f32[4]\"}\nprogram:\n  - y: f(x)\noutputs: [y]\n");
  ASSERT_EQ(run("cleave compile calls.yaml -o calls.plan").code, 0);
  EXPECT_EQ(run("cleave explain calls.plan").code, 0);
  const CommandResult result = run("cleave run calls.plan --input 'x=[1, 2, 3, 4]'");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("gone.so"));
}

TEST_F(CliCompile, FilesOfDataAreFoundBesideThePlan) {
  folder_.write("x.csv", "1,2,3,4\n");
  folder_.write("data.yaml", "cleave: 1\ninputs: {x: {type: \"f32[1, 4]\", file: x.csv}}\nprogram:\n  - y: x * 2\noutputs: [y]\n");
  ASSERT_EQ(run("mkdir -p a/b && mv x.csv data.yaml a/b/ && cleave compile a/b/data.yaml -o a/b/data.plan").code, 0);
  const CommandResult moved = run("mv a/b c && cd / && cleave run " + folder_.path("c/data.plan"));
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("[[2.0, 4.0, 6.0, 8.0]]"));
}

}  // namespace
}  // namespace cleave::testing
