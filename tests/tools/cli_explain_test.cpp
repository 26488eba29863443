// The questions of `cleave explain`: a node, missing kernels, ranges of the machine, an earlier plan; and profiles that match in part. Each
// as text and as JSON, and the errors of wrong questions and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kExplainedModel = R"(cleave: 1
model: asked
parameters:
  w: {type: "f32[1024, 1024]", normal: [0, 0.03], seed: 1}
program:
  - for: step in 100
    do:
      - w: tanh(matmul(w, w))
      - ranked: sort(w, axis=1)
      - w: w - 0.1 * ranked
outputs: [w]
)";

class CliExplainTest : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_.path("m.yaml"), kExplainedModel); }
  CommandResult explain(const std::string& flags) { return run_command("cleave explain m.yaml " + flags, folder_.path("")); }
  json document(const std::string& flags) {
    const CommandResult result = explain(flags + " --json");
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out);
  }
  void replace(const std::string& what, const std::string& by) {
    std::string model = read_file(folder_.path("m.yaml"));
    model.replace(model.find(what), what.size(), by);
    write_file(folder_.path("m.yaml"), model);
  }
  TemporaryFolder folder_;
};

TEST_F(CliExplainTest, WithoutAnAcceleratorThereIsNothingToAskAboutIt) {
  for (const char* asked : {"--advise", "--sensitivity"}) {
    const CommandResult result = explain(std::string("--device none ") + asked);
    EXPECT_EQ(result.code, 2) << asked;
    EXPECT_THAT(result.err, HasSubstr("error: `--device none` leaves no accelerator to ask about"));
  }
}

TEST_F(CliExplainTest, ANodeIsFoundByNameLineAndPath) {
  for (const char* asked : {"ranked", "9", "9:17", "for.step/ranked.sort", "sort"}) {
    SCOPED_TRACE(asked);
    const CommandResult result = explain(std::string("--node ") + asked);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("m.yaml:9:17: `ranked` (sort, f32[1024, 1024]), `for.step/ranked.sort`\n"));
    EXPECT_THAT(result.out, HasSubstr("runs on the host, 100 times a run, because the accelerator has no kernel for it"));
    EXPECT_THAT(result.out, HasSubstr("with an accelerator kernel as fast as that it would move"));
    EXPECT_THAT(result.out, HasSubstr("read by `multiply` 10:20 on the accelerator"));
    EXPECT_THAT(result.out, HasSubstr("waits on a transfer: `w` to the host"));
    EXPECT_THAT(result.out, HasSubstr("is moved: `ranked` to the accelerator"));
  }
  EXPECT_EQ(document("--node 8")["nodes"].size(), 2u) << "each of a line";
  EXPECT_EQ(explain("--node rankd").code, 1);
  EXPECT_THAT(explain("--node rankd").err, HasSubstr("error: the plan has no node `rankd`; did you mean `ranked`?"));
  EXPECT_THAT(explain("--node 2").err, HasSubstr("nothing of the plan stands at `2`; the nearest is on line 4"));
  EXPECT_THAT(explain("--node 9:1").err, HasSubstr("`--node 9` shows it"));
}

TEST_F(CliExplainTest, WhatMovesANodeMovesItWhenItIsSo) {
  const json node = document("--node tanh")["nodes"][0];
  EXPECT_EQ(node["on"], json({"accelerator:0"}));
  EXPECT_EQ(node["statement"], "for.step/w.tanh");
  const double now = node["accelerator"]["seconds"], moves = node["moves_at_accelerator_seconds"];
  EXPECT_GT(moves, now);
  EXPECT_NEAR(moves - now, node["host"]["best_sum_seconds"].get<double>() - node["objective_seconds"].get<double>(), 1e-9);
  EXPECT_EQ(node["read_by"].size(), 2u);
}

TEST_F(CliExplainTest, AdviceIsWhatAKernelSaves) {
  const json advice = document("--advise")["advice"];
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0]["kernel"], "sort");
  const double saved = advice[0]["saved_seconds"], all = document("--advise")["predicted_seconds"];
  EXPECT_GT(saved, 0.9 * all);
  EXPECT_THAT(explain("--advise 3").out, HasSubstr("sort  saves 1."));
  replace("sort(w, axis=1)", "exp(w)");
  EXPECT_EQ(explain("--advise").out, "nothing runs on the host for want of an accelerator kernel\n");
  replace("exp(w)", "sort(w[0:2, 0:2], axis=1)[0, 0]");
  EXPECT_EQ(explain("--advise 0").code, 2);
}

TEST_F(CliExplainTest, AKernelThatSavesNothingIsSaidToSaveNothing) {
  write_file(folder_.path("m.yaml"), "cleave: 1\nmodel: small\ninputs:\n  x: \"f32[4]\"\nprogram:\n  - y: sort(x)\noutputs: [y]\n");
  const CommandResult result = explain("--advise");
  EXPECT_THAT(result.out, HasSubstr("no accelerator kernel alone would save anything worth having"));
  EXPECT_THAT(result.out, HasSubstr("saves nothing"));
}

TEST_F(CliExplainTest, RangesHoldTheMachineAndEndWhereThePlanChanges) {
  replace("sort(w, axis=1)", "sort(w[0:64, 0:64], axis=1)");
  replace("0.1 * ranked", "sum(ranked)");
  const json ranges = document("--sensitivity")["sensitivity"];
  ASSERT_EQ(ranges.size(), 3u);
  std::size_t edges = 0;
  for (const json& range : ranges) {
    EXPECT_LE(range["low"], 1) << range;
    if (!range["high"].is_null()) {
      EXPECT_GE(range["high"], 1) << range;
    }
    edges += range["edges"].size();
    EXPECT_EQ(range["edges"].size(), (range["low"] > 0 ? 1u : 0u) + (range["high"].is_null() ? 0u : 1u));
  }
  EXPECT_GT(edges, 0u);
  EXPECT_THAT(explain("--sensitivity").out, HasSubstr("  speed of the accelerator from "));
  EXPECT_THAT(explain("--sensitivity").out, HasSubstr("the accelerator\n"));
}

TEST_F(CliExplainTest, ADifferenceOutlivesInsertedLinesAndSaysWhatMoved) {
  write_file(folder_.path("old.json"), explain("--json").out);
  replace("program:", "# a line\n\nprogram:");
  EXPECT_THAT(explain("--diff old.json").out, HasSubstr("nothing moved, and the same values are transferred\n"));
  EXPECT_EQ(document("--diff old.json")["moved"].size(), 0u);
  const CommandResult moved = explain("--placement host --diff old.json");
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("4 operations moved\n"));
  EXPECT_THAT(moved.out, HasSubstr("`for.step/w.tanh` runs on the host, was on the accelerator\n"));
  EXPECT_THAT(moved.out, HasSubstr("4 transfers lost\n"));
  EXPECT_THAT(moved.out, HasSubstr("predicted 3.4 s, was 1.1 s (+"));
  replace("ranked: sort(w, axis=1)", "ranked: sort(w, axis=1) + exp(w)");
  replace("100", "200");
  const json more = document("--diff old.json");
  EXPECT_EQ(more["new"].size(), 2u);
  EXPECT_GT(more["predicted_seconds"], more["was_predicted_seconds"]);
}

TEST_F(CliExplainTest, AWrongOldPlanIsOneError) {
  const auto told = [&](const std::string& text) {
    write_file(folder_.path("old.json"), text);
    const CommandResult result = explain("--diff old.json");
    EXPECT_EQ(result.code, 1) << text;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(told("{\"cleave\""), HasSubstr("error: old.json: not a plan to compare with: it is no JSON, or cut off"));
  EXPECT_THAT(told("[1]"), HasSubstr("it is no object"));
  EXPECT_THAT(told("{\"cleave\": \"0.2.0\", \"diagnostics\": []}"), HasSubstr("it has no `placement`"));
  EXPECT_THAT(told(R"({"placement": {}, "nodes": [{"id": 0}], "transfers": []})"), HasSubstr("as an older cleave wrote it"));
  EXPECT_EQ(explain("--diff none.json").code, 1);
  EXPECT_EQ(explain("--diff old.json --sensitivity").code, 2) << "one question at a time";
}

TEST_F(CliExplainTest, AProfileOutlivesInsertedLinesAndSaysWhatDoesNotFit) {
  constexpr const char* kLoop =
      "cleave: 1\nmodel: loop\ninputs:\n  x: \"f32[]\"\nprogram:\n  - n: 0\n  - while: x > 1\n    do:\n      - x: x / 2\n      - n: n + 1\n"
      "outputs: [x, n]\n";
  write_file(folder_.path("m.yaml"), kLoop);
  const CommandResult run = run_command("cleave run m.yaml --input x=1000 --profile seen.json --quiet", folder_.path(""));
  EXPECT_EQ(run.code, 0) << run.err;
  const json seen = json::parse(read_file(folder_.path("seen.json")));
  EXPECT_EQ(seen["cleave_profile"], 2);
  EXPECT_EQ(seen["expected"], json({{"while", 10}}));
  replace("program:", "# a line\n\nprogram:");
  const CommandResult fits = explain("--use-profile seen.json");
  EXPECT_THAT(fits.out, HasSubstr("10 times a run"));
  EXPECT_THAT(fits.out, Not(HasSubstr("assumed)  ")));
  EXPECT_EQ(without_account(fits.err), "");
  write_file(folder_.path("part.json"),
             R"({"cleave_profile": 2, "expected": {"while": 10, "for.i": 3}, "host_seconds": {"while/y.sin": 1}})");
  EXPECT_THAT(
      explain("--use-profile part.json").err,
      HasSubstr("warning: the profile fits this model in part: 1 of its 2 loops and branches and 1 of its 1 times of operations are "
                "not in it"));
  EXPECT_EQ(without_account(explain("--use-profile part.json -w").err), "");
  write_file(folder_.path("old.json"), R"({"cleave_profile": 1, "expected": {"m.yaml:9:5": 7}, "host_seconds": {}})");
  EXPECT_THAT(explain("--use-profile old.json").out, HasSubstr("7 times a run")) << "version 1 goes by lines";
  write_file(folder_.path("moved.json"), R"({"cleave_profile": 1, "expected": {"m.yaml:7:5": 7}, "host_seconds": {}})");
  EXPECT_THAT(explain("--use-profile moved.json").err, HasSubstr("the profile fits nothing of this model"));
  EXPECT_THAT(explain("--use-profile moved.json").err, HasSubstr("note: this profile names operations by their lines (format 1)"));
  write_file(folder_.path("new.json"), R"({"cleave_profile": 3})");
  EXPECT_EQ(explain("--use-profile new.json").code, 1);
  EXPECT_THAT(explain("--use-profile new.json").err, HasSubstr("a profile of version 3, and this cleave knows 2"));
}

/// A range of sizes is planned size by size, and neighbors are compared.
TEST(CliExplainSizes, SayWhereThePlanChanges) {
  const CommandResult changing =
      run_command("cleave explain models/mlp_inference.yaml --device simulated --dim rows=32..1000", source_dir());
  EXPECT_EQ(changing.code, 0) << changing.err;
  for (const char* text : {"  rows  predicted", "  32 ", "  64 ", "  512 ", "  1000 ",
                           "from rows=32 to rows=64: 1 operation moves to the accelerator: `matmul`"})
    EXPECT_THAT(changing.out, HasSubstr(text));
  EXPECT_THAT(changing.out, ::testing::Not(HasSubstr("  1024 "))) << "the last size is the last";
  const CommandResult same = run_command("cleave check models/mlp_inference.yaml --device simulated --dim rows=1..3", source_dir());
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("the plan is the same for all these sizes"));
}

TEST(CliExplainSizes, AreRefusedWhereOneIsMeant) {
  const auto code = [](const std::string& flags) { return run_command("cleave " + flags, source_dir()).code; };
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim rows=1..4 --json"), 2);
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim rows=1..4 --node y"), 2);
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim rows=1..4 --dim hidden=1..4"), 2);
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim rows=4..1"), 2);
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim rows=1.."), 2);
  EXPECT_EQ(code("run models/mlp_inference.yaml --dim rows=1..4"), 2);
  EXPECT_EQ(code("explain models/mlp_inference.yaml --dim nowhere=1..4"), 1) << "no such dim";
}

}  // namespace
}  // namespace cleave::testing
