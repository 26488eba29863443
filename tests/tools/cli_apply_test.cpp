// `cleave apply`, for every edit that `check` offers for the models in the tree: the edited file, that `check` no longer reports the cause
// of the edit, and that the predicted time of a run is the promised one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/command.h"
#include "tests/support/json_schema.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"
#include "tests/support/sarif_rules.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

/// A model with a costly pin, and with comments and blanks that no edit may change.
constexpr const char* kPinned = R"(# Reads, scales,
#   and sums.
cleave: 1
model: pinned   # two blanks
parameters:
  w1: {type: "f32[49152, 128]", normal: [0, 0.001], seed: 1}
host_functions:
  read: {library: libdata.so, takes: ["i32[]"], returns: "u8[32, 49152]", seconds: 1.0e-3}
program:
  - total: 0.0
  - for: i in 31

    do:
      # of bytes
      - scaled: astype(read(i), f32) / 255
        place: host
      - total: total + sum(relu(matmul(scaled, w1)))  # ends
outputs: [total]
)";

constexpr const char* kTrip = R"(cleave: 1
model: trip
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

constexpr const char* kRepeated = R"(cleave: 1
model: repeated
parameters:
  basis: {type: "f32[256, 256]", normal: [0, 1], seed: 2}
  w: {type: "f32[256, 256]", normal: [0, 0.03], seed: 1}
program:
  # trains
  - for: step in 50
    do:
      # its inverse
      - scaled: inv(basis)  # once
        place: host
      # and back
      - w: tanh(matmul(scaled, w))
outputs: [w]
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

class CliApplyTest : public ::testing::Test {
 protected:
  CommandResult run(const std::string& arguments) { return run_command("cleave " + arguments + " --color never", folder_.path("")); }
  void model(const std::string& text, const std::string& name = "m.yaml") { write_file(folder_.path(name), text); }
  std::string text(const std::string& name = "m.yaml") { return read_file(folder_.path(name)); }
  json check(const std::string& flags = "", const std::string& name = "m.yaml") {
    return json::parse(run("check " + name + " --json " + flags).out)["diagnostics"];
  }
  /// The only fix of the first message of a kind.
  json fix(const std::string& kind, const std::string& flags = "", const std::string& name = "m.yaml") {
    const json all = check(flags, name);
    for (const json& diagnostic : all)
      if (diagnostic["kind"] == kind) return diagnostic["fixes"].empty() ? json() : diagnostic["fixes"][0];
    return {};
  }
  std::string id(const std::string& kind, const std::string& flags = "") {
    const json found = fix(kind, flags);
    return found.is_null() ? "none" : found["id"].get<std::string>();
  }
  bool says(const std::string& kind, const std::string& flags = "", const std::string& name = "m.yaml") {
    const json all = check(flags, name);
    return std::any_of(all.begin(), all.end(), [&](const json& d) { return d["kind"] == kind && d["severity"] != "allowed"; });
  }
  TemporaryFolder folder_;
};

// --- each kind of edit ------------------------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, APinThatCostsIsRemoved) {
  model(kPinned);
  EXPECT_THAT(run("check m.yaml").err, HasSubstr(" [apply: " + id("costly-pin").substr(0, 4) + "]\n"));
  const CommandResult applied = run("apply m.yaml " + id("costly-pin").substr(0, 4));
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(applied.out, "m.yaml:16: removed `place: host` of `scaled`; a run is predicted to take 31 ms instead of 56 ms\n");
  EXPECT_EQ(applied.err, "");
  EXPECT_EQ(text(), replaced(kPinned, "        place: host\n", ""));
  EXPECT_FALSE(says("costly-pin"));
}

TEST_F(CliApplyTest, ATransferIsMarkedAsMeant) {
  model(kTrip);
  EXPECT_THAT(run("check m.yaml").err, HasSubstr("mark `w` with to_host() here if this is meant [apply: "));
  const CommandResult applied = run("apply m.yaml " + id("round-trip"));
  EXPECT_EQ(applied.out, "m.yaml:9: marked `w` with to_host(); a run is predicted to take 1.1 s, as before\n") << applied.err;
  EXPECT_EQ(text(), replaced(kTrip, "sort(w,", "sort(to_host(w),"));
  EXPECT_FALSE(says("round-trip"));
}

TEST_F(CliApplyTest, ACopyIsMarkedWhereItIsRead) {
  model(replaced(kTrip, "      - ranked: sort(w, axis=1)\n      - w: w - 0.1 * ranked\n", "      - print(\"norm\", sum(w * w))\n"));
  const std::string flags = "-Wimplicit-copy --placement accelerator";
  EXPECT_EQ(run("apply m.yaml " + id("implicit-copy", flags) + " --placement accelerator").code, 0) << "its kind is off, but it is found";
  EXPECT_THAT(text(), HasSubstr("print(\"norm\", to_host(sum(w * w)))"));
  EXPECT_FALSE(says("implicit-copy", flags));
}

TEST_F(CliApplyTest, WorkThatALoopRepeatsIsMovedInFront) {
  model(kRepeated);
  const double saved = fix("invariant-host-work")["saved_seconds"];
  const CommandResult applied = run("apply m.yaml " + id("invariant-host-work") + " --json");
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(text(), R"(cleave: 1
model: repeated
parameters:
  basis: {type: "f32[256, 256]", normal: [0, 1], seed: 2}
  w: {type: "f32[256, 256]", normal: [0, 0.03], seed: 1}
program:
  # its inverse
  - scaled: inv(basis)  # once
    place: host
  # trains
  - for: step in 50
    do:
      # and back
      - w: tanh(matmul(scaled, w))
outputs: [w]
)");
  EXPECT_FALSE(says("invariant-host-work"));
  const json document = json::parse(applied.out);
  const double before = document["predicted_seconds_before"], after = document["predicted_seconds"];
  EXPECT_NEAR(before - after, saved, 0.01 * before);
}

TEST_F(CliApplyTest, AStatementThatNothingReadsIsRemoved) {
  const std::string unused =
      "cleave: 1\nmodel: m\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\n  - squares: x ** 2\n  - roots: sqrt(squares)\n";
  model(unused + "outputs: [y]\n");
  EXPECT_THAT(run("check m.yaml").err, HasSubstr("[-Wunused] [apply: " + id("unused").substr(0, 4) + "]"));
  const std::string first = id("unused");
  EXPECT_THAT(run("apply m.yaml " + first).out, HasSubstr("removed `roots`, which nothing reads"));
  EXPECT_EQ(run("apply m.yaml " + id("unused")).code, 0) << "what only fed it is unused now";
  EXPECT_EQ(text(), "cleave: 1\nmodel: m\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\noutputs: [y]\n");
  EXPECT_FALSE(says("unused"));
  model("cleave: 1\nmodel: m\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\n  - z: x + 1\n  - y: y + 1\n  - y: y * 2\noutputs: [z]\n");
  EXPECT_TRUE(says("unused"));
  EXPECT_EQ(id("unused"), "none") << "bound more than once";
}

// --- text that an edit preserves --------------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, LineEndsAndCommentsStay) {
  for (const std::string break_ : {"\n", "\r\n"}) {
    const auto with_break = [&](const std::string& text) { return replaced(text, "\n", break_); };
    for (const auto& [pin, left] : {std::pair<std::string, std::string>{"        place: host  # as it was\n", "        # as it was\n"},
                                    {"        place: 'host'\n", ""}}) {
      model(with_break(replaced(kPinned, "        place: host\n", pin)));
      EXPECT_EQ(run("apply m.yaml " + id("costly-pin")).code, 0);
      EXPECT_EQ(text(), with_break(replaced(kPinned, "        place: host\n", left)));
    }
    model(with_break(kRepeated));
    EXPECT_EQ(run("apply m.yaml " + id("invariant-host-work")).code, 0);
    EXPECT_EQ(replaced(text(), break_, "\n").find('\r'), std::string::npos);
    EXPECT_FALSE(says("invariant-host-work"));
  }
}

TEST_F(CliApplyTest, EveryWayToWriteAPinIsEdited) {
  const std::string block = "      - scaled: astype(read(i), f32) / 255\n        place: host\n", value = "astype(read(i), f32) / 255";
  const std::pair<std::string, std::string> ways[] = {
      {"      - place: host\n        scaled: " + value + "\n", "      - scaled: " + value + "\n"},
      {"      - {scaled: \"" + value + "\", place: host}\n", "      - {scaled: \"" + value + "\"}\n"},
      {"      - {place: host, scaled: \"" + value + "\"}\n", "      - {scaled: \"" + value + "\"}\n"},
      {"      - scaled: \"" + value + "\"\n        place: host\n        allow: {unused: never}\n",
       "      - scaled: \"" + value + "\"\n        allow: {unused: never}\n"},
  };
  for (const auto& [written, left] : ways) {
    model(replaced(kPinned, block, written));
    const CommandResult applied = run("apply m.yaml " + id("costly-pin"));
    EXPECT_EQ(applied.code, 0) << written << applied.err;
    EXPECT_EQ(text(), replaced(kPinned, block, left));
  }
}

TEST_F(CliApplyTest, AFileWithoutALastLineBreakKeepsNone) {
  std::string moved = kPinned;
  moved.erase(moved.find("outputs: [total]\n"), 17);
  moved.insert(moved.find("parameters:"), "outputs: [total]\n");
  const std::string last = "      - total: total + sum(relu(matmul(astype(read(i), f32) / 255, w1)))\n        place: host";
  moved.erase(moved.find("      - scaled:"));
  model(moved + last);
  const std::string before = text();
  if (id("costly-pin") == "none") GTEST_SKIP() << "the pin is said otherwise";
  EXPECT_EQ(run("apply m.yaml " + id("costly-pin")).code, 0);
  EXPECT_EQ(text(), before.substr(0, before.size() - std::string("\n        place: host").size()));
}

// --- IDs --------------------------------------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, AnIdOutlivesEditsElsewhere) {
  model(kPinned);
  const std::string before = id("costly-pin");
  model(replaced(replaced(kPinned, "program:\n", "program:\n  # a line\n  - more: zeros([3])\n"), "outputs: [total]",
                 "outputs: [total, more]"));
  EXPECT_EQ(id("costly-pin"), before);
}

TEST_F(CliApplyTest, AnIdThatIsNoneIsToldWhichThereAre) {
  model(kTrip);
  for (const std::string id : {"zzzz", "''", "12345678123456781"}) {
    const CommandResult unknown = run("apply m.yaml " + id);
    EXPECT_EQ(unknown.code, 1);
    EXPECT_THAT(unknown.err, MatchesRegex("error: m.yaml has no edit `.*`; there are `[0-9a-f]{4}` \\(mark `w` with to_host\\(\\)\\)\n"));
  }
  const std::string applied = id("round-trip");
  ASSERT_EQ(run("apply m.yaml " + applied).code, 0);
  const CommandResult again = run("apply m.yaml " + applied);
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.err, "error: m.yaml has no edit `" + applied + "`; no advice about this model is an edit\n");
  EXPECT_EQ(run("apply m.yaml").code, 2);
  EXPECT_THAT(run("apply m.yaml").err, HasSubstr("`apply` needs an ID"));
  EXPECT_EQ(run("apply").code, 2);
}

TEST_F(CliApplyTest, TheBeginningOfSeveralIdsIsRefused) {
  std::string many =
      "cleave: 1\nmodel: many\nparameters:\n  w: {type: \"f32[1024, 1024]\", normal: [0, 0.03], seed: 1}\nprogram:\n"
      "  - for: step in 100\n    do:\n";
  for (int i = 0; i < 17; ++i) many += "      - w: tanh(matmul(w, w))\n      - w: sort(w, axis=1)\n";  // more than there are digits
  model(many + "outputs: [w]\n");
  std::map<char, int> first;
  std::set<std::string> ids;
  const json all = check();
  for (const json& diagnostic : all)
    for (const json& fix : diagnostic["fixes"])
      if (ids.insert(fix["id"]).second) ++first[fix["id"].get<std::string>()[0]];
  ASSERT_EQ(ids.size(), 17U);
  for (const auto& [digit, count] : first) {
    const CommandResult several = run(std::string("apply m.yaml ") + digit + " -o other.yaml");
    EXPECT_EQ(several.code, count == 1 ? 0 : 1);
    if (count > 1) {
      EXPECT_THAT(several.err, HasSubstr("begins the IDs of several edits: "));
    }
  }
}

TEST_F(CliApplyTest, OnlyYamlIsEdited) {
  model(kTrip);
  ASSERT_EQ(run("print m.yaml --stage traced -o m.graph").code, 0);
  for (const std::string file : {"m.graph", "m.onnx"}) {
    const CommandResult refused = run("apply " + file + " 1234");
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.err, "error: `" + file + "` is no YAML model; edits are written into those only\n");
  }
  const json said = check("", "m.graph");
  for (const json& diagnostic : said) EXPECT_THAT(diagnostic["fixes"], IsEmpty());
}

// --- the position of the output file ----------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, TheEditedModelGoesWhereItIsSent) {
  model(kTrip);
  const std::string wanted = replaced(kTrip, "sort(w,", "sort(to_host(w),"), edit = id("round-trip");
  const CommandResult shown = run("apply m.yaml " + edit + " -o -");
  EXPECT_EQ(shown.out, wanted);
  EXPECT_THAT(shown.err, HasSubstr("m.yaml:9: marked `w` with to_host()"));
  EXPECT_THAT(run("apply m.yaml " + edit + " -o other.yaml").out, HasSubstr("as before; written to other.yaml\n"));
  EXPECT_EQ(text("other.yaml"), wanted);
  EXPECT_EQ(text(), kTrip);
  EXPECT_EQ(run("apply m.yaml " + edit + " -o nowhere/other.yaml").code, 1);
  EXPECT_EQ(run("apply m.yaml " + edit + " -o - --json").code, 2);
  const CommandResult document = run("apply m.yaml " + edit + " --json");
  EXPECT_THAT(JsonSchema("apply").faults(json::parse(document.out)), IsEmpty());
  EXPECT_EQ(text(), wanted);
}

TEST_F(CliApplyTest, AFileThatNobodyMayWriteStays) {
  model(kTrip);
  const std::string edit = id("round-trip");
  std::filesystem::permissions(folder_.path("m.yaml"), std::filesystem::perms::owner_read);
  const CommandResult refused = run("apply m.yaml " + edit);
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err, "error: cannot write `m.yaml`: Permission denied\n");
  EXPECT_EQ(run("apply m.yaml " + edit + " -o other.yaml").code, 0);
  EXPECT_EQ(text(), kTrip);
}

// --- cases without an edit --------------------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, AdviceAtSeveralPlacesHasNoId) {
  const std::string two = R"(cleave: 1
model: two
parameters:
  w: {type: "f32[1024, 1024]", normal: [0, 0.03], seed: 1}
functions:
  ranked:
    takes: [v]
    do:
      - r: sort(v, axis=1)
    returns: r
program:
  - for: step in 100
    do:
      - w: tanh(matmul(w, w))
      - w: w - 0.1 * ranked(w)
      - w: tanh(matmul(w, w))
      - w: w - 0.1 * ranked(w)
outputs: [w]
)";
  model(two);
  ASSERT_TRUE(says("round-trip"));
  EXPECT_EQ(id("round-trip"), "none") << "the function is called twice";
  model(replaced(two, "      - w: tanh(matmul(w, w))\n      - w: w - 0.1 * ranked(w)\noutputs", "outputs"));
  EXPECT_EQ(run("apply m.yaml " + id("round-trip")).code, 0);
  EXPECT_THAT(text(), HasSubstr("sort(to_host(v), axis=1)"));
}

TEST_F(CliApplyTest, AStatementThatNeedsItsLoopHasNoId) {
  for (const auto& [what, with] :
       {std::pair<std::string, std::string>{"program:\n", "program:\n  - scaled: basis\n"},
        {"      - w: tanh(matmul(scaled, w))\n", "      - w: tanh(matmul(scaled, w))\n      - scaled: w * 2\n"}}) {
    model(replaced(kRepeated, what, with));
    EXPECT_EQ(id("invariant-host-work"), "none") << with;
  }
}

// --- all of the tree --------------------------------------------------------------------------------------------------------------------

TEST_F(CliApplyTest, EveryEditOfTheModelsInTheTreeComesTrue) {
  int edits = 0;
  for (const char* where : {"models", "docs/examples", "tests/data/bottleneck"}) {
    const std::string from = std::filesystem::absolute(source_dir() + "/" + where).string();
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
      const std::string path = entry.path().string();
      if (entry.path().extension() != ".yaml" || path.find("machine") != std::string::npos || (kSanitized && edits >= 3)) continue;
      for (const char* flags : {"", " --placement accelerator -Wextra -Wimplicit-copy"}) {
        SCOPED_TRACE(path + flags);
        const CommandResult checked = run("check " + path + " --json" + flags);
        ASSERT_TRUE(json::accept(checked.out));
        std::set<std::string> done;
        const json document = json::parse(checked.out);
        for (const json& diagnostic : document["diagnostics"]) {
          for (const json& fix : diagnostic["fixes"]) {
            const std::string id = fix["id"];
            if (!done.insert(id).second) continue;
            ++edits;
            const CommandResult applied = run("apply " + path + " " + id + flags + " -o -");
            EXPECT_EQ(applied.code, 0) << fix << applied.err;
          }
        }
      }
    }
  }
  EXPECT_GE(edits, kSanitized ? 3 : 10);
}

TEST_F(CliApplyTest, SarifHasTheEditsAsFixes) {
  model("# \xC3\xA4\n" + replaced(kTrip, "sort(w, axis=1)", "sort(w, axis=1)  # \xC3\xBC"));
  const CommandResult checked = run("check m.yaml --diagnostics sarif");
  const json document = json::parse(checked.err);
  EXPECT_THAT(sarif_faults(document), IsEmpty());
  const json& change = document["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
  EXPECT_EQ(change["artifactLocation"]["uri"], "m.yaml");
  ASSERT_EQ(change["replacements"].size(), 2U);
  EXPECT_EQ(change["replacements"][0]["insertedContent"]["text"], "to_host(");
  EXPECT_EQ(change["replacements"][0]["deletedRegion"], json({{"startLine", 10}, {"startColumn", 22}, {"endLine", 10}, {"endColumn", 22}}));
  EXPECT_EQ(change["replacements"][1]["deletedRegion"], json({{"startLine", 10}, {"startColumn", 23}, {"endLine", 10}, {"endColumn", 23}}));
}

}  // namespace
}  // namespace cleave::testing
