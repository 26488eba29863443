// `cleave check` against a lock file of the plan and against a baseline: the failing findings and their lines, and the errors of wrong
// files.
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

constexpr const char* kCheckedModel = R"(cleave: 1
model: locked
parameters:
  w: {type: "f32[256, 256]", normal: [0, 0.03], seed: 1}
program:
  - for: step in 100
    do:
      - w: tanh(matmul(w, w))
      - ranked: sort(w, axis=1)
      - w: w - 0.1 * ranked
outputs: [w]
)";

class CliCheckTest : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder_.path("m.yaml"), kCheckedModel); }
  CommandResult check(const std::string& flags) { return run_command("cleave check m.yaml --color never " + flags, folder_.path("")); }
  /// Puts `text` before the first `at` of the model.
  void insert(const std::string& at, const std::string& text) {
    std::string model = read_file(folder_.path("m.yaml"));
    model.insert(model.find(at), text);
    write_file(folder_.path("m.yaml"), model);
  }
  std::string lock() { return read_file(folder_.path("plan.lock")); }
  TemporaryFolder folder_;
};

TEST_F(CliCheckTest, ALockHoldsThePlanAndOutlivesInsertedLines) {
  EXPECT_EQ(check("--lock plan.lock").code, 1) << "there is none";
  EXPECT_THAT(check("--lock plan.lock").err, HasSubstr("--update-lock"));
  const CommandResult written = check("--lock plan.lock --update-lock --placement accelerator");
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(lock(), HasSubstr("\nfor.step/ranked.sort on host\nfor.step/ranked.sort to accelerator:0 in for.step\n"));
  EXPECT_EQ(check("--lock plan.lock --placement accelerator").code, 0);
  insert("program:", "# a line\n\n");
  insert("      - ranked", "      # another\n");
  EXPECT_EQ(check("--lock plan.lock --placement accelerator").code, 0);
  const std::string before = lock();
  EXPECT_EQ(check("--lock plan.lock --update-lock --placement accelerator").code, 0);
  EXPECT_EQ(lock(), before) << "the lock of one plan is one text";
}

TEST_F(CliCheckTest, BothSolversCertifyThePlan) {
  for (const char* placement : {"optimal", "fastest", "accelerator", "host"}) {
    const CommandResult certified = check(std::string("-w --certify --placement ") + placement);
    EXPECT_EQ(certified.code, 0) << placement << certified.err;
    EXPECT_THAT(certified.out, HasSubstr("both solvers find a least cost of")) << placement;
  }
  EXPECT_THAT(check("-w").out, Not(HasSubstr("both solvers")));
}

TEST_F(CliCheckTest, WhatMovedIsSaidAtItsLine) {
  ASSERT_EQ(check("--lock plan.lock --update-lock --placement accelerator").code, 0);
  const CommandResult moved = check("--lock plan.lock --placement host");
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.err,
              HasSubstr("m.yaml:8:17: error: `for.step/w.matmul` and `for.step/w.tanh` run on the host now; the lock has them on "
                        "the accelerator\n"));
  EXPECT_THAT(moved.err, HasSubstr("under `--placement host`"));
  EXPECT_THAT(moved.err, Not(HasSubstr("`for.step/ranked.sort`"))) << "it is where it was";
  EXPECT_THAT(moved.err, HasSubstr("note: if this is meant, write the lock anew with --update-lock\n"));
  const json document = json::parse(check("--lock plan.lock --placement host --json").out);
  EXPECT_EQ(document["diagnostics"][0]["severity"], "error");
}

TEST_F(CliCheckTest, WhatIsNewAndWhatIsGoneIsSaid) {
  ASSERT_EQ(check("--lock plan.lock --update-lock --placement accelerator").code, 0);
  insert("      - w: w - 0.1", "      - w: exp(w)\n");
  const CommandResult added = check("--lock plan.lock --placement accelerator");
  EXPECT_EQ(added.code, 1);
  EXPECT_THAT(added.err, HasSubstr("m.yaml:10:12: error: `for.step/w#2.exp` runs on the accelerator, and is not in the lock\n"));
  EXPECT_THAT(added.err, HasSubstr("`for.step/w#2.multiply`"));
  EXPECT_THAT(added.err, HasSubstr("no longer in the program"));
}

TEST_F(CliCheckTest, AWrongLockIsOneError) {
  ASSERT_EQ(check("--lock plan.lock --update-lock").code, 0);
  const std::string good = lock();
  const auto told = [&](const std::string& text) {
    write_file(folder_.path("plan.lock"), text);
    const CommandResult result = check("--lock plan.lock");
    EXPECT_EQ(result.code, 1) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find("error: "), result.err.rfind("error: ")) << result.err;
    return result.err;
  };
  EXPECT_THAT(told(""), HasSubstr("it is empty"));
  EXPECT_THAT(told("{}\n"), HasSubstr("plan.lock:1: error: not a lock of a plan: it does not begin with"));
  EXPECT_THAT(told("# cleave plan lock, version 2\n# end of lock\n"), HasSubstr("it is of version 2, and this cleave knows 1"));
  EXPECT_THAT(told(good.substr(0, good.size() - 14)), HasSubstr("it is cut off"));
  EXPECT_THAT(told(good.substr(0, good.find(" on ") + 5)), HasSubstr("not a lock of a plan"));
  std::string conflict = good;
  conflict.insert(conflict.find('\n') + 1, "<<<<<<< mine\n");
  EXPECT_THAT(told(conflict), HasSubstr("plan.lock:2: error: not a lock of a plan: there is a conflict of a merge"));
  EXPECT_EQ(check("--update-lock").code, 2);
  EXPECT_THAT(check("--lock none/plan.lock --update-lock").err, HasSubstr("cannot write `none/plan.lock`"));
}

TEST_F(CliCheckTest, ABaselineLeavesWhatIsNew) {
  const std::string flags = "--placement accelerator -Werror ";
  const CommandResult first = check(flags + "--json >base.json");
  EXPECT_EQ(first.code, 1);
  const CommandResult same = check(flags + "--baseline base.json");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(without_account(same.err), "");
  EXPECT_THAT(same.out, HasSubstr("0 new, 1 known, 0 gone"));
  insert("program:", "# a line\n\n");
  EXPECT_EQ(check(flags + "--baseline base.json").code, 0) << "lines were inserted";
  insert("outputs:", "      - again: sort(matmul(w, w), axis=0)\n      - w: w + 0.1 * again\n");
  const CommandResult more = check("--placement accelerator --baseline base.json");
  EXPECT_EQ(more.code, 1) << "a warning that is new fails";
  EXPECT_THAT(more.err, HasSubstr("m.yaml:13:16: warning: `sort` makes the accelerator wait"));
  EXPECT_THAT(without_account(more.err), Not(HasSubstr("m.yaml:11:")));
  EXPECT_THAT(more.out, HasSubstr("1 new, 1 known, 0 gone"));
  EXPECT_THAT(check("--placement host --baseline base.json").out, HasSubstr("0 new, 0 known, 1 gone"));
  const std::string explained = run_command("cleave explain m.yaml --json --placement accelerator", folder_.path("")).out;
  write_file(folder_.path("explained.json"), explained);
  EXPECT_EQ(check("--placement accelerator --baseline explained.json").code, 0) << "explain --json has the same diagnostics";
}

/// The last line on standard error breaks down the time of a run, and the JSON document has the shares, which add up to 1.
TEST_F(CliCheckTest, EndsWithTheAccountAsExplainAndRunDo) {
  for (const char* command : {"check", "explain", "run"}) {
    SCOPED_TRACE(command);
    const std::string call = std::string("cleave ") + command + " m.yaml --placement accelerator";
    const CommandResult told = run_command(call, folder_.path(""));
    EXPECT_EQ(told.code, 0) << told.err;
    const std::string last = told.err.substr(without_account(told.err).size());
    EXPECT_TRUE(last.starts_with("round-trip-bound: `sort` (m.yaml:9:17) makes the accelerator wait for ")) << told.err;
    const std::string quiet = run_command(call + " --quiet", folder_.path("")).err;
    EXPECT_EQ(without_account(quiet), quiet);
    const json account = json::parse(run_command(call + " --json", folder_.path("")).out)["account"];
    EXPECT_EQ(account["kind"], "round-trip-bound");
    EXPECT_EQ(account["location"]["line"], 9);
    double sum = 0;
    for (const json& share : account["shares"]) sum += share.get<double>();
    EXPECT_NEAR(sum, 1, 1e-6);
    ASSERT_EQ(account["cures"].size(), 1U);
    EXPECT_GT(account["cures"][0]["seconds"], 0);
  }
}

TEST_F(CliCheckTest, SarifAndJsonHaveOneFingerprint) {
  const json said = json::parse(check("--placement accelerator --json").out);
  const json sarif = json::parse(check("--placement accelerator --diagnostics sarif").err);
  EXPECT_EQ(said["diagnostics"][0]["statement"], "for.step/ranked.sort");
  EXPECT_EQ(said["diagnostics"][0]["fingerprint"], sarif["runs"][0]["results"][0]["partialFingerprints"]["cleaveCause/v2"]);
}

TEST_F(CliCheckTest, AWrongBaselineIsOneError) {
  const auto told = [&](const std::string& text) {
    write_file(folder_.path("base.json"), text);
    const CommandResult result = check("--baseline base.json");
    EXPECT_EQ(result.code, 1) << text;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(told("{\"cleave\": \"0.2.0\", \"diag"), HasSubstr("error: base.json: not a baseline: it is no JSON, or cut off"));
  EXPECT_THAT(told("[]"), HasSubstr("it has no `diagnostics`"));
  EXPECT_THAT(told(R"({"cleave": "0.1.0", "diagnostics": [{"severity": "error"}]})"), HasSubstr("no fingerprint"));
  EXPECT_THAT(told(R"({"cleave": "9", "diagnostics": [{"severity": "error", "fingerprint": "v9:1"}]})"), HasSubstr("another version"));
  EXPECT_EQ(check("--baseline none.json").code, 1);
}

}  // namespace
}  // namespace cleave::testing
