// SARIF of every model, example and golden case, under every policy, with every kind of diagnostic enabled: valid by the standard, each
// result with its cost, its remedy, its position and a unique fingerprint that does not change when lines are inserted before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "graph/base/diagnostic_help.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/version.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/all_models.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/sanitized.h"
#include "tests/support/sarif_rules.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

Diagnostics diagnose(const std::string& path, Policy policy) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  for (const char* flag : {"Wall", "Wextra", "Wimplicit-copy", "Rround-trip"}) EXPECT_TRUE(options.diagnostics.parse(flag));
  const Graph graph = read_model(path);
  return graph.ok() ? plan(graph, options).diagnostics : graph.diagnostics;
}

json sarif(const Diagnostics& diagnostics) {
  json document = json::parse(to_sarif(diagnostics));
  EXPECT_THAT(sarif_faults(document), ::testing::IsEmpty());
  return document["runs"][0];
}

std::multiset<std::string> fingerprints(const json& run) {
  std::multiset<std::string> found;
  for (const json& result : run["results"]) found.insert(result["partialFingerprints"]["cleaveCause/v2"].get<std::string>());
  return found;
}

TEST(Sarif, OfEveryModelIsValidWithPlacesAndFingerprintsOfItsOwn) {
  std::size_t results = 0, tried = 0;
  for (const fs::path& path : all_models()) {
    for (const Policy policy : {Policy::optimal, Policy::accelerator}) {
      if (++tried % (kSanitized ? 5 : 1) != 0) continue;
      SCOPED_TRACE(path.string());
      const json run = sarif(diagnose(path.string(), policy));
      results += run["results"].size();
      const std::multiset<std::string> all = fingerprints(run);
      EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size()) << "two results have one fingerprint";
      for (const json& result : run["results"]) {
        const json place = result.value("/locations/0/physicalLocation"_json_pointer, json());
        const bool readable = place.is_object() && place.contains("region") && place["region"].contains("startColumn");
        if (readable && path.stem() != "yaml_empty") {
          EXPECT_GE(place["region"].value("endColumn", 0), place["region"]["startColumn"].get<int>()) << result;
        }
      }
    }
  }
  EXPECT_GE(results, kSanitized ? 60u : 300u);
}

TEST(Sarif, FingerprintsOutliveInsertedLinesAndNewSizes) {
  const TemporaryFolder folder;
  for (const char* name : {"tests/golden/sarif/allowed.yaml", "tests/golden/sarif/equal_places.yaml"}) {
    SCOPED_TRACE(name);
    const std::string path = source_dir() + "/" + name;
    const std::string text = read_file(path);
    std::string moved = "# a line\n\n" + text;
    moved.insert(moved.find("program:\n"), "# another line\n\n");
    moved.insert(moved.find("    do:\n", moved.find("program:\n")) + 8, "      # inside\n");
    write_file(folder.path("moved.yaml"), moved);
    const auto before = fingerprints(sarif(diagnose(path, Policy::accelerator)));
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(before, fingerprints(sarif(diagnose(folder.path("moved.yaml"), Policy::accelerator))));
  }
}

TEST(Sarif, EqualPlacesAreSaidOnce) {
  Diagnostics found;
  for (Diagnostic d : diagnose(source_dir() + "/tests/golden/sarif/equal_places.yaml", Policy::accelerator)) {
    const auto located = std::find_if(d.notes.begin(), d.notes.end(), [](const Note& note) { return note.location.known(); });
    ASSERT_NE(located, d.notes.end());
    std::set<std::string> places;  // both results are sent back to one reader, which is named once
    for (const Note& note : d.notes) EXPECT_TRUE(places.insert(note.message + to_string(note.location)).second) << note.message;
    d.notes.push_back(Note(*located));
    found.add(std::move(d));
  }
  ASSERT_NE(found.begin(), found.end());
  sarif(found);
}

TEST(Sarif, AResultCarriesPriceAdviceAndTheReasonOfAnAllowance) {
  const json run = sarif(diagnose(source_dir() + "/tests/golden/sarif/allowed.yaml", Policy::accelerator));
  EXPECT_EQ(run["tool"]["driver"]["version"], kVersion);
  std::size_t suppressed = 0, warned = 0;
  for (const json& result : run["results"]) {
    if (result["ruleId"] != "round-trip") continue;
    const std::string text = result["message"]["text"];
    EXPECT_THAT(text, HasSubstr("\n100 times a run: "));
    EXPECT_THAT(text, HasSubstr("\nruns on the host because "));
    EXPECT_THAT(result["relatedLocations"].dump(), HasSubstr("in `ranked`, from here"));
    if (result["level"] == "warning") ++warned;
    if (!result.contains("suppressions")) continue;
    ++suppressed;
    EXPECT_EQ(result["suppressions"][0]["justification"], "the ranks are \"needed\" \xe2\x80\x93 \xc3\xa4");
  }
  EXPECT_EQ(suppressed, 1u);
  EXPECT_EQ(warned, 1u);
}

TEST(Sarif, EveryRuleHasHelpAndASectionInTheReference) {
  const std::string reference = read_file(source_dir() + "/docs/diagnostics.md");
  const json run = sarif({});
  for (const json& rule : run["tool"]["driver"]["rules"]) {
    const std::string uri = rule["helpUri"], anchor = uri.substr(uri.find('#') + 1);
    EXPECT_THAT(uri, HasSubstr("/diagnostics.md#"));
    EXPECT_THAT(reference, HasSubstr("\n### " + anchor + "\n")) << uri;
    EXPECT_GE(rule["help"]["text"].get<std::string>().size(), 40u) << anchor;
  }
}

TEST(SarifRules, RefuseWhatTheStandardRefuses) {
  const json valid = json::parse(to_sarif(diagnose(source_dir() + "/tests/golden/sarif/allowed.yaml", Policy::accelerator)));
  ASSERT_TRUE(sarif_faults(valid).empty());
  const auto refused = [&](const char* pointer, const json& value) {
    json changed = valid;
    changed[json::json_pointer(pointer)] = value;
    return !sarif_faults(changed).empty();
  };
  EXPECT_TRUE(refused("/version", "2.0.0"));
  EXPECT_TRUE(refused("/runs/0/results/0/mesage", "x")) << "unknown property";
  EXPECT_TRUE(refused("/runs/0/results/0/level", "remark"));
  EXPECT_TRUE(refused("/runs/0/results/0/message", json::object()));
  EXPECT_TRUE(refused("/runs/0/results/0/locations/0/physicalLocation/region/startLine", 0));
  EXPECT_TRUE(refused("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", "a b"));
  EXPECT_TRUE(refused("/runs/0/tool/driver/rules/0/helpUri", "diagnostics.md#x"));
  json twice = valid;
  json& related = twice["runs"][0]["results"][0]["relatedLocations"];
  ASSERT_FALSE(related.empty());
  related.push_back(json(related[0]));
  EXPECT_FALSE(sarif_faults(twice).empty());
}

}  // namespace
}  // namespace cleave::testing
