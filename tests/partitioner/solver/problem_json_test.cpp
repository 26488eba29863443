// Problems and workloads from JSON: accepted documents, and every kind of malformed input with the path of the offending element.
#include "partitioner/solver/problem_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/namespaces.h"
#include "tests/support/random_problem.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using Problem = PlacementProblem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json to_json(const Problem& problem) {
  json document = {{"regions", json::array()}, {"nodes", json::array()}, {"values", json::array()}, {"uses", json::array()}};
  for (const auto& r : problem.regions) {
    document["regions"].push_back({{"parent", r.parent < 0 ? json() : json(r.parent)}, {"frequency", r.frequency}});
  }
  for (const auto& n : problem.nodes) {
    const json pins[] = {json(), "host", "accelerator"};
    document["nodes"].push_back({{"name", "n"},
                                 {"region", n.region},
                                 {"host_seconds", n.host_seconds},
                                 {"accelerator_seconds", n.accelerator_seconds},
                                 {"pin", pins[static_cast<int>(n.pin)]},
                                 {"replicable", n.replicable},
                                 {"group", n.group < 0 ? json() : json(n.group)},
                                 {"accelerator_bytes", n.accelerator_bytes}});
  }
  for (const auto& v : problem.values) {
    document["values"].push_back({{"node", v.node},
                                  {"region", v.region},
                                  {"host_to_accelerator_seconds", v.host_to_accelerator_seconds},
                                  {"accelerator_to_host_seconds", v.accelerator_to_host_seconds}});
  }
  for (const auto& u : problem.uses) document["uses"].push_back({{"value", u.value}, {"node", u.node}, {"region", u.region}});
  return document;
}

json small() {
  return json::parse(R"({
    "regions": [{"parent": null, "frequency": 1}, {"parent": 0, "frequency": 100}],
    "nodes": [{"name": "x", "region": 0, "host_seconds": 0, "accelerator_seconds": 0, "pin": "host", "replicable": false, "group": null},
              {"name": "f", "region": 1, "host_seconds": 5, "accelerator_seconds": 1, "pin": null, "replicable": true, "accelerator_bytes": 8}],
    "values": [{"node": 0, "region": 0, "host_to_accelerator_seconds": 2, "accelerator_to_host_seconds": 3}],
    "uses": [{"value": 0, "node": 1, "region": 1}],
    "accelerator_memory_bytes": null})");
}

TEST(ProblemJson, ReadsAndSolvesAndWrites) {
  const auto loaded = parse_problem(small().dump(), ProblemFormat::cleave);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->problem.names, (std::vector<std::string>{"x", "f"}));
  EXPECT_EQ(loaded->problem.nodes[0].pin, Problem::Pin::host);
  EXPECT_TRUE(loaded->problem.nodes[1].replicable);
  const auto placement = solve(loaded->problem);
  const json out = json::parse(placement_json(*loaded, *placement));
  EXPECT_EQ(out["objective_seconds"], 102);
  EXPECT_EQ(out["bound_seconds"], 102);
  EXPECT_EQ(out["gap"], 0);
  EXPECT_GE(out["solve_seconds"], 0.0);
  EXPECT_EQ(out["nodes"], json::parse(R"([{"on": ["host"]}, {"on": ["accelerator:0"]}])"));
  EXPECT_EQ(out["transfers"], json::parse(R"([{"value": 0, "direction": "host_to_accelerator", "region": 0}])"));
}

TEST(ProblemJson, ReadsWhatItIsGivenForRandomProblems) {
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    testing::RandomProblemOptions options;
    options.ties = seed % 2 == 0;
    options.keep = false;
    const Problem problem = testing::random_problem(seed, options);
    const auto loaded = parse_problem(to_json(problem).dump(), ProblemFormat::cleave);
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << " " << loaded.error().message;
    const auto expected = solve(problem), got = solve(loaded->problem);
    ASSERT_TRUE(expected.ok() && got.ok());
    EXPECT_EQ(expected->objective_seconds, got->objective_seconds) << "seed " << seed;
    EXPECT_EQ(expected->on_host, got->on_host) << "seed " << seed;
    EXPECT_EQ(expected->transfers, got->transfers) << "seed " << seed;
  }
}

TEST(ProblemJson, WrittenProblemsAreReadBackTheSame) {
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    testing::RandomProblemOptions options;
    options.ties = seed % 2 == 0;
    options.memory = seed % 3 == 0;
    options.savings = seed % 5 == 0;
    Problem problem = testing::random_problem(seed, options);
    if (seed % 4 == 0) problem.names.assign(problem.nodes.size(), "a \"quoted\"\n name");
    const auto loaded = parse_problem(problem_json(problem), ProblemFormat::cleave);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    {  // groups are numbered in the order in which they appear
      std::vector<std::int32_t> seen;
      for (auto& node : problem.nodes) {
        if (node.group < 0) continue;
        const auto found = std::find(seen.begin(), seen.end(), node.group);
        if (found == seen.end()) seen.push_back(node.group);
        node.group = static_cast<std::int32_t>(std::find(seen.begin(), seen.end(), node.group) - seen.begin());
      }
    }
    EXPECT_EQ(testing::describe(loaded->problem), testing::describe(problem)) << "seed " << seed;
    EXPECT_EQ(loaded->problem.names, problem.names);
  }
}

TEST(ProblemJson, RegionsMayStandInAnyOrder) {
  json document = small();
  document["regions"] =
      json::parse(R"([{"parent": null, "frequency": 1}, {"parent": 2, "frequency": 100}, {"parent": 0, "frequency": 0.25}])");
  const auto loaded = parse_problem(document.dump(), ProblemFormat::cleave);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_THAT(loaded->region_in_file, ElementsAre(0, 2, 1));
  const json out = json::parse(placement_json(*loaded, *solve(loaded->problem)));
  EXPECT_EQ(out["transfers"][0]["region"], 2);
  EXPECT_EQ(out["objective_seconds"], 100.5);
}

TEST(ProblemJson, GroupsMayBeNumbersOrTexts) {
  json document = small();
  document["nodes"][0]["pin"] = nullptr;
  document["nodes"][0]["group"] = document["nodes"][1]["group"] = "pair";
  auto loaded = parse_problem(document.dump(), ProblemFormat::cleave);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->problem.nodes[0].group, loaded->problem.nodes[1].group);
  document["nodes"][0]["group"] = 4000000000000;
  loaded = parse_problem(document.dump(), ProblemFormat::cleave);
  ASSERT_TRUE(loaded.ok());
  EXPECT_NE(loaded->problem.nodes[0].group, loaded->problem.nodes[1].group);
}

TEST(ProblemJson, MistakesInSavingsHaveTheirPath) {
  const std::pair<json, const char*> mistakes[] = {
      {{{"node", 1}}, "savings[0].with is missing"},
      {{{"with", {0}}}, "savings[0].node is missing"},
      {{{"node", 2}, {"with", {0}}}, "savings[0].node is 2, but there are 2 nodes"},
      {{{"node", 1}, {"with", {7}}}, "savings[0].with is 7, but there are 2 nodes"},
      {{{"node", 1}, {"with", 0}}, "savings[0].with must be a list"},
      {{{"node", 1}, {"with", json::array()}}, "savings[0].with must name a node"},
      {{{"node", 1}, {"with", {json::array({0})}}}, "savings[0].with must not be a list"},
      {{{"node", 1}, {"with", {"f"}}}, "savings[0].with must be an index"},
      {{{"node", 1}, {"with", {0}}, {"alone", 1}}, "savings[0].alone must be true or false"},
      {{{"node", 1}, {"with", {0}}, {"host_seconds", -1}}, "savings[0].host_seconds must be a finite number"},
      {{{"node", 1}, {"with", {0}}, {"accelerator_seconds", 1e9}}, "savings[0].accelerator_seconds saves more of node 1 than it costs"},
      {{{"node", 1}, {"with", {0}}, {"saved", 1}}, "savings[0] has an unknown key `saved`"},
  };
  for (const auto& [saving, message] : mistakes) {
    json document = small();
    document["savings"] = json::array({saving});
    const auto loaded = parse_problem(document.dump(), ProblemFormat::cleave);
    ASSERT_FALSE(loaded.ok()) << message;
    EXPECT_THAT(loaded.error().message, StartsWith(message));
  }
}

TEST(ProblemJson, EveryMistakeHasItsPath) {
  struct Mistake {
    const char* pointer;  ///< the element to replace
    json with;            ///< a discarded value: remove it
    const char* message;
  };
  const json removed = json::parse("", nullptr, false);
  const Mistake mistakes[] = {
      {"/nodes/1/host_seconds", -1, "nodes[1].host_seconds must be a finite number that is not negative"},
      {"/nodes/1/host_seconds", "5", "nodes[1].host_seconds must be a finite number"},
      {"/nodes/1/host_seconds", removed, "nodes[1].host_seconds is missing"},
      {"/nodes/1/region", 2, "nodes[1].region is 2, but there are 2 regions"},
      {"/nodes/1/region", 0.5, "nodes[1].region must be an index"},
      {"/nodes/1/region", -1, "nodes[1].region must be an index"},
      {"/nodes/1/region", 4294967296, "nodes[1].region must be an index"},
      {"/nodes/0/pin", "gpu", "nodes[0].pin must be null, \"host\" or \"accelerator\""},
      {"/nodes/0/replicable", 1, "nodes[0].replicable must be true or false"},
      {"/nodes/0/group", -1, "nodes[0].group must be"},
      {"/nodes/0/name", 7, "nodes[0].name must be a text"},
      {"/nodes/0/acelerator_bytes", 7, "nodes[0] has an unknown key `acelerator_bytes`; did you mean `accelerator_bytes`?"},
      {"/nodes/0/accelerator_bytes", json::array(), "nodes[0].accelerator_bytes must not be a list"},
      {"/nodes/0/accelerator_bytes", json::object(), "nodes[0].accelerator_bytes must not be an object"},
      {"/nodes/0", 3, "nodes[0] must be an object"},
      {"/nodes", 3, "nodes must be a list of objects"},
      {"/nodes", json::object(), "nodes must be a list of objects"},
      {"/nodes", removed, "nodes is missing"},
      {"/uses", removed, "uses is missing"},
      {"/ndoes", json::array(), "the document has an unknown key `ndoes`; did you mean `nodes`?"},
      {"/values/0/node", 2, "values[0].node is 2, but there are 2 nodes"},
      {"/values/0/accelerator_to_host_seconds", -0.5, "values[0].accelerator_to_host_seconds must be"},
      {"/uses/0/value", 1, "uses[0].value is 1, but there are 1 values"},
      {"/uses/0/node", 9, "uses[0].node is 9"},
      {"/values/0/region", 1, ""},
      {"/regions/0/parent", 0, "regions[0].parent must be null: region 0 is the root"},
      {"/regions/1/parent", nullptr, "regions[1].parent must not be null: only region 0 is the root"},
      {"/regions/1/parent", 1, "regions[1].parent leads round a cycle and never to the root (1 -> 1)"},
      {"/regions/1/parent", 5, "regions[1].parent is 5, but there are 2 regions"},
      {"/regions/1/frequency", nullptr, "regions[1].frequency must be a finite number"},
      {"/regions", json::array(), "regions must hold at least the root"},
      {"/accelerator_memory_bytes", -1, "accelerator_memory_bytes must be a finite number"},
  };
  for (const Mistake& mistake : mistakes) {
    json document = small();
    const json::json_pointer pointer(mistake.pointer);
    if (mistake.with.is_discarded()) {
      document[pointer.parent_pointer()].erase(pointer.back());
    } else {
      document[pointer] = mistake.with;
    }
    const auto loaded = parse_problem(document.dump(), ProblemFormat::cleave);
    if (*mistake.message == 0) continue;
    ASSERT_FALSE(loaded.ok()) << mistake.message;
    EXPECT_THAT(loaded.error().message, StartsWith(mistake.message));
  }
  json blind = small();
  blind["values"][0]["region"] = 1;
  blind["uses"][0]["region"] = 0;
  EXPECT_THAT(parse_problem(blind.dump(), ProblemFormat::cleave).error().message, StartsWith("uses[0].region does not see value 0"));
}

TEST(ProblemJson, TextThatIsNoJsonSaysWhere) {
  std::string text = small().dump();
  const std::string cost = "\"host_seconds\":5";
  const auto spoilt = [&](const std::string& number) {
    std::string copy = text;
    copy.replace(copy.find(cost), cost.size(), "\"host_seconds\":" + number);
    return parse_problem(copy, ProblemFormat::cleave);
  };
  for (const char* number : {"NaN", "Infinity", "1e999", "-", "5 5", "\"", ""}) {
    const auto loaded = spoilt(number);
    ASSERT_FALSE(loaded.ok()) << number;
    EXPECT_THAT(loaded.error().message, HasSubstr("nodes[1]")) << number;
  }
  EXPECT_TRUE(spoilt("5").ok());
  EXPECT_FALSE(spoilt("5, \"host_seconds\": 6").ok());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_problem(text.substr(0, length), ProblemFormat::cleave).ok()) << length;
  }
  for (const std::string other : {"[]", "7", "null", "{}", "[[[[", "\xff"}) EXPECT_FALSE(parse_problem(other, ProblemFormat::cleave).ok());
  EXPECT_FALSE(parse_problem(std::string(1000000, '['), ProblemFormat::cleave).ok());
  std::string deep = "{\"x\":" + std::string(100000, '[');
  EXPECT_FALSE(parse_problem(deep, ProblemFormat::device_placement).ok());
}

TEST(ProblemJson, LongCyclesOfRegionsAreShownInPart) {
  json document = small();
  for (int i = 0; i < 100; ++i) document["regions"].push_back({{"parent", i == 99 ? 2 : i + 3}, {"frequency", 1}});
  EXPECT_THAT(parse_problem(document.dump(), ProblemFormat::cleave).error().message,
              StartsWith("regions[2].parent leads round a cycle and never to the root (2 -> 3 -> 4"));
}

TEST(ProblemJson, FilesAreStreamedWithProgress) {
  const std::string path = ::testing::TempDir() + "problem_json_test.json";
  std::string nodes = R"({"region": 0, "host_seconds": 1, "accelerator_seconds": 2})";
  const std::string node = nodes;
  for (int i = 1; i < 40000; ++i) nodes += ", " + node;
  std::ofstream(path) << R"({"regions": [{"parent": null, "frequency": 1}], "values": [], "uses": [], "nodes": [)" << nodes << "]}";
  std::vector<double> fractions;
  const auto loaded = load_problem(path, ProblemFormat::cleave, [&](double f) { fractions.push_back(f); });
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->problem.nodes.size(), 40000u);
  ASSERT_GE(fractions.size(), 3u);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_GT(fractions.back(), 0.5);
  EXPECT_LE(fractions.back(), 1);
  EXPECT_THAT(load_problem(path + ".missing", ProblemFormat::cleave).error().message, HasSubstr("No such file or directory"));
  EXPECT_FALSE(load_problem("/", ProblemFormat::cleave).ok());
}

const char* const kWorkload = R"({"maxSizePerFPGA": 100.0, "maxFPGAs": 5, "maxCPUs": 8, "extra": {"deep": [1, {"x": []}]},
  "edges": [{"sourceId": 7, "destId": "b", "cost": 3.5, "size": 1}, {"sourceId": 7, "destId": 9, "cost": 3.5, "size": 1}],
  "nodes": [{"name": "in", "id": 7, "supportedOnFpga": 0, "cpuLatency": 1, "fpgaLatency": 0.5, "isBackwardNode": false, "colorClass": 1, "size": 30},
            {"name": "mid", "id": "b", "supportedOnFpga": true, "cpuLatency": 9, "fpgaLatency": 1, "colorClass": 2, "layerId": [1], "size": 60},
            {"id": 9, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": 1, "colorClass": 2, "size": 10}]})";

TEST(DevicePlacement, ReadsAWorkload) {
  const auto loaded = parse_problem(kWorkload, ProblemFormat::device_placement);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Problem& problem = loaded->problem;
  ASSERT_EQ(problem.nodes.size(), 3u);
  EXPECT_EQ(problem.accelerator_memory_bytes, 100);
  EXPECT_EQ(problem.nodes[0].pin, Problem::Pin::host);
  EXPECT_EQ(problem.nodes[1].pin, Problem::Pin::none);
  EXPECT_EQ(problem.nodes[1].group, problem.nodes[2].group);
  EXPECT_NE(problem.nodes[0].group, problem.nodes[1].group);
  EXPECT_EQ(problem.nodes[1].accelerator_bytes, 60);
  EXPECT_EQ(problem.values[0].host_to_accelerator_seconds, 3.5);
  EXPECT_EQ(problem.values[0].accelerator_to_host_seconds, 3.5);
  ASSERT_EQ(problem.uses.size(), 2u);
  EXPECT_EQ(problem.uses[0].node, 1);
}

TEST(DevicePlacement, MistakesHaveTheirPath) {
  const auto with = [](const std::string& what, const std::string& instead) {
    std::string text = kWorkload;
    text.replace(text.find(what), what.size(), instead);
    const auto loaded = parse_problem(text, ProblemFormat::device_placement);
    return loaded.ok() ? std::string("no error") : loaded.error().message;
  };
  EXPECT_EQ(with("\"destId\": 9", "\"destId\": 8"), "edges[1].destId is 8, which is no node");
  EXPECT_EQ(with("\"id\": 9", "\"id\": 7"), "nodes[2].id is 7, as of another node");
  EXPECT_EQ(with("\"cpuLatency\": 9, ", ""), "nodes[1].cpuLatency is missing");
  EXPECT_EQ(with("3.5", "-3.5"), "edges[0].cost must be a finite number that is not negative");
  EXPECT_EQ(with("\"nodes\"", "\"noeds\""), "nodes is missing");
}

TEST(DevicePlacement, CapacityInBytesOrPercent) {
  Problem problem = parse_problem(kWorkload, ProblemFormat::device_placement)->problem;
  ASSERT_TRUE(set_accelerator_memory(problem, "20%").ok());
  EXPECT_DOUBLE_EQ(problem.accelerator_memory_bytes, 20);
  ASSERT_TRUE(set_accelerator_memory(problem, "64").ok());
  EXPECT_DOUBLE_EQ(problem.accelerator_memory_bytes, 64);
  ASSERT_TRUE(set_accelerator_memory(problem, "16 KiB").ok());
  EXPECT_DOUBLE_EQ(problem.accelerator_memory_bytes, 16384);
  for (const char* wrong : {"", "%", "-1", "0", "1GBB", "1GB%", "nan", "inf%"}) {
    EXPECT_EQ(set_accelerator_memory(problem, wrong).error().kind, ErrorKind::usage) << wrong;
  }
  EXPECT_NE(set_accelerator_memory(problem, "16Kib").error().message.find("did you mean `KiB`?"), std::string::npos);
}

}  // namespace
}  // namespace cleave::testing
