// SARIF from the command line: the recipe for continuous integration in docs/guide/running.md, executed step by step, and one valid
// document on standard error whatever goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sarif_rules.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kHead = "cleave: 1\nparameters:\n  w: {type: \"f32[1024, 1024]\", normal: [0, 0.03], seed: 1}\n";
const std::string kRoundTrip = kHead +
                               "program:\n  - for: step in 100\n    do:\n      - w: matmul(w, w)\n"
                               "      - {r: \"sort(w)\"ALLOW}\n      - w: matmul(r, w)\noutputs: [w]\n";

std::string round_trip(const std::string& allow) {
  std::string text = kRoundTrip;
  return text.replace(text.find("ALLOW"), 5, allow);
}

/// The `run:` lines of the recipe.
std::vector<std::string> recipe() {
  std::istringstream guide(read_file(source_dir() + "/docs/guide/running.md"));
  std::vector<std::string> steps;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line == "# .github/workflows/plan.yml") inside = true;
    if (line == "```") inside = false;
    const std::size_t run = line.find("- run: ");
    if (inside && run != std::string::npos) steps.push_back(line.substr(run + 7));
  }
  return steps;
}

struct Outcome {
  json results;            ///< results in the document that is uploaded to the code host
  std::vector<int> codes;  ///< exit code of each step
};

Outcome follow_recipe(const std::string& model) {
  const TemporaryFolder folder;
  write_file(folder.path("model.yaml"), model);
  Outcome outcome;
  for (const std::string& step : recipe()) outcome.codes.push_back(run_command(step, folder.path("")).code);
  const json document = json::parse(read_file(folder.path("plan.sarif")), nullptr, false);
  EXPECT_THAT(sarif_faults(document), IsEmpty()) << read_file(folder.path("plan.sarif"));
  if (document.is_object()) outcome.results = document["runs"][0]["results"];
  return outcome;
}

TEST(Recipe, AnnotatesWarningsAndFailsTheJob) {
  ASSERT_EQ(recipe().size(), 2u);
  const Outcome outcome = follow_recipe(round_trip(""));
  EXPECT_THAT(outcome.codes, ElementsAre(0, 1));
  ASSERT_EQ(outcome.results.size(), 1u);
  EXPECT_EQ(outcome.results[0]["level"], "warning");
  EXPECT_EQ(outcome.results[0]["ruleId"], "round-trip");
  const json& place = outcome.results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "model.yaml");
  EXPECT_EQ(place["region"]["startLine"], 8);
}

TEST(Recipe, PassesWhatIsCleanOrAllowed) {
  const Outcome clean = follow_recipe(kHead + "program:\n  - w: matmul(w, w)\noutputs: [w]\n");
  EXPECT_THAT(clean.codes, ElementsAre(0, 0));
  EXPECT_THAT(clean.results, IsEmpty());
  const Outcome allowed = follow_recipe(round_trip(", allow: {round-trip: short}"));
  EXPECT_THAT(allowed.codes, ElementsAre(0, 0));
  ASSERT_EQ(allowed.results.size(), 1u);
  EXPECT_EQ(allowed.results[0]["suppressions"][0]["justification"], "short");
}

TEST(Recipe, AnnotatesMistakesToo) {
  const Outcome outcome = follow_recipe(kHead + "programm:\n  - w: matmul(w)\noutputs: [w]\n");
  EXPECT_THAT(outcome.codes, ElementsAre(0, 1));
  ASSERT_EQ(outcome.results.size(), 2u);
  EXPECT_EQ(outcome.results[0]["level"], "error");
}

TEST(SarifOnStandardError, IsOneDocumentWhateverGoesWrong) {
  const TemporaryFolder folder;
  std::string small = round_trip("");
  small.replace(small.find("1024, 1024"), 10, "8, 8");
  write_file(folder.path("model.yaml"), round_trip(""));
  write_file(folder.path("small.yaml"), small);
  for (const auto& [arguments, code] :
       std::vector<std::pair<std::string, int>>{{"check missing.yaml", 1},
                                                {"check model.yaml --device abacus", 2},
                                                {"check model.yaml --machine nowhere.yaml", 2},
                                                {"run small.yaml --device simulated --placement accelerator --inject kernel:3", 3},
                                                {"run small.yaml --device simulated --placement accelerator", 0},
                                                {"print model.yaml --dim n=3", 1}}) {
    const CommandResult result = run_command("cleave " + arguments + " --diagnostics sarif", folder.path(""));
    EXPECT_EQ(result.code, code) << arguments << result.err;
    const json document = json::parse(result.err, nullptr, false);
    EXPECT_THAT(sarif_faults(document), IsEmpty()) << arguments << "\n" << result.err;
  }
}

}  // namespace
}  // namespace cleave::testing
