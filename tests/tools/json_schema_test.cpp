// Every document that cleave writes, validated against its schema in docs/schema: models, examples and golden cases under every policy,
// programs of all three front ends, every command, errors too. docs/json.md is generated from the schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "cleave.h"
#include "executor/api/wiring.h"
#include "graph/text/text.h"
#include "models/model.h"
#include "partitioner/report/explain.h"
#include "tests/support/all_models.h"
#include "tests/support/command.h"
#include "tests/support/json_schema.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::IsEmpty;

const JsonSchema& explain_schema() {
  static const JsonSchema schema("explain");
  return schema;
}

json explained(const Graph& graph, Policy policy) {
  CompileOptions options{.device = "simulated", .placement = policy};
  for (const char* flag : {"Wall", "Wextra", "Wimplicit-copy", "Rround-trip"}) EXPECT_TRUE(options.diagnostics.parse(flag));
  return json::parse(explain_json(plan(graph, runtime::wire(options)->plan)));
}

TEST(Explain, OfEveryModelUnderEveryPolicyIsValid) {
  std::size_t whole = 0, errors = 0;
  for (const fs::path& path : all_models()) {
    const Graph graph = read_model(path.string());
    for (const Policy policy : policies()) {
      SCOPED_TRACE(path.string());
      const json document = explained(graph, policy);
      EXPECT_THAT(explain_schema().faults(document), IsEmpty());
      ++(document.size() == 2 ? errors : whole);
      if (!graph.ok()) break;
    }
  }
  EXPECT_GT(whole, 100U);
  EXPECT_GT(errors, 20U);
}

TEST(Explain, OfEveryFaceIsValid) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {  // C++ calls
    const Graph graph = testing::random_graph(seed);
    EXPECT_THAT(explain_schema().faults(explained(graph, seed % 2 ? Policy::optimal : Policy::accelerator)), IsEmpty()) << seed;
    const Result<Graph> read = parse_graph(print(graph), "m.graph");
    ASSERT_TRUE(read.ok()) << seed;
    EXPECT_THAT(explain_schema().faults(explained(*read, Policy::fastest)), IsEmpty()) << seed;
  }
}

json node_of(const json& document, const std::string& op) {
  for (const json& node : document["nodes"])
    if (node["op"] == op) return node;
  ADD_FAILURE() << "no " << op;
  return {};
}

TEST(Explain, LocationsHaveEndsAndChains) {
  const TemporaryFolder folder;
  write_file(folder.path("m.yaml"),
             "cleave: 1\nfunctions:\n  layer:\n    takes: [x]\n    do:\n      - y: tanh(x)\n    returns: y\ninputs: {x: \"f32[4]\"}\n"
             "program:\n  - y: layer(x)\noutputs: [y]\n");
  json node = node_of(explained(read_model(folder.path("m.yaml")), Policy::accelerator), "tanh");
  const json file = folder.path("m.yaml");
  EXPECT_EQ(node["location"]["end_column"], node["location"]["column"].get<int>() + 4);
  EXPECT_EQ(node["location"]["end_line"], 6);
  const json called = {{"file", file}, {"line", 10}, {"column", 8}, {"end_line", 10}, {"end_column", 13}};
  EXPECT_EQ(node["location"]["via"], json::array({{{"in", "layer"}, {"location", called}}}));
  EXPECT_EQ(node["types"], json::array({"f32[4]"}));

  node = node_of(explained(trace("scoped", {{"x", "f32[4]"}},
                                 [](Tensor x) {
                                   const auto layer = scope("layer");
                                   return tanh(x);
                                 }),
                           Policy::accelerator),
                 "tanh");
  EXPECT_EQ(node["location"]["via"][0]["in"], "layer");
  EXPECT_EQ(node["location"]["via"][0]["location"]["file"], node["location"]["file"]);
}

TEST(Explain, ConsumersLoopsAndPeaksAreThoseOfTheProgram) {
  const json document = explained(read_model(source_dir() + "/docs/examples/round_trip.yaml"), Policy::optimal);
  const json& trip = document["round_trips"][0];
  const json &out = document["transfers"][trip["out"][0].get<std::size_t>()],
             &back = document["transfers"][trip["back"][0].get<std::size_t>()];
  EXPECT_EQ(document["nodes"][out["node"].get<std::size_t>()]["op"], "tanh");
  EXPECT_EQ(document["nodes"][trip["blamed"].get<std::size_t>()]["op"], "sort");
  ASSERT_EQ(out["consumers"].size(), 1U);
  EXPECT_EQ(out["consumers"][0]["name"], "sort");
  EXPECT_EQ(out["consumers"][0]["as"], "operand");
  EXPECT_EQ(out["consumers"][0]["location"]["line"], 10);
  EXPECT_EQ(out["type"], "f32[1024, 1024]");
  EXPECT_EQ(document["regions"][out["loop"].get<std::size_t>()]["kind"], "for");
  EXPECT_EQ(trip["loop"], out["loop"]);
  EXPECT_EQ(back["hidden_seconds"], 0);
  EXPECT_GT(back["waited_seconds"], back["seconds"]) << "and for the sort";
  EXPECT_EQ(
      document["transfers"].back()["consumers"][0],
      json({{"node", nullptr}, {"name", "w"}, {"as", "output"}, {"location", document["transfers"].back()["consumers"][0]["location"]}}));
  const json& memory = document["memory"];
  ASSERT_EQ(memory.size(), 2U);
  for (const json& device : memory) {
    double named = 0;
    for (const json& value : device["values"]) named += value["bytes"].get<double>();
    EXPECT_LE(named, 1.001 * device["peak_bytes"].get<double>());
    EXPECT_GE(named, 0.99 * device["peak_bytes"].get<double>());
  }
}

// --- every command ----------------------------------------------------------------------------------------------------------------------

/// The first edit that `check` offers.
std::string id_of(const std::string& model) {
  const json document = json::parse(run_command("cleave check " + model + " --json").out);
  for (const json& diagnostic : document["diagnostics"])
    for (const json& fix : diagnostic["fixes"]) return fix["id"];
  return "";
}

TEST(Commands, WriteWhatTheirSchemasSay) {
  const TemporaryFolder folder;
  write_file(folder.path("bad.yaml"), "cleave: 1\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: tanch(x)\noutputs: [y]\n");
  write_file(
      folder.path("problem.json"),
      R"({"regions": [{"parent": null, "frequency": 1}], "nodes": [{"name": "a", "region": 0, "host_seconds": 2, "accelerator_seconds": 1,
                 "pin": null, "replicable": false}], "values": [], "uses": [], "accelerator_memory_bytes": null})");
  const std::string kmeans = source_dir() + "/models/kmeans.yaml", examples = source_dir() + "/docs/examples/";
  const std::string trip = examples + "round_trip.yaml";
  ASSERT_EQ(run_command("cleave run " + kmeans + " --quiet --profile seen.json", folder.path("")).code, 0);
  ASSERT_EQ(run_command("cleave explain " + trip + " --placement host --json > host.json", folder.path("")).code, 0);
  const std::pair<std::string, std::string> commands[] = {
      {"explain", "explain " + trip},
      {"explain", "explain " + kmeans + " --placement host --machine h200"},
      {"explain", "explain " + kmeans + " --use-profile seen.json"},
      {"explain", "explain " + examples + "memory_fallback.yaml --machine " + examples + "small_machine.yaml"},
      {"explain", "explain " + trip + " --device none"},
      {"explain_node", "explain " + trip + " --node ranked"},
      {"explain_node", "explain " + kmeans + " --node 20"},
      {"explain_node", "explain " + trip + " --node nothing"},
      {"explain_advise", "explain " + trip + " --advise"},
      {"explain_sensitivity", "explain " + trip + " --sensitivity"},
      {"explain_diff", "explain " + trip + " --diff host.json"},
      {"explain", "explain bad.yaml"},
      {"explain", "explain missing.yaml"},
      {"run", "run " + kmeans + " --quiet"},
      {"run", "run " + kmeans + " --device none --runs 3 --profile"},
      {"run", "run " + kmeans + " --verify --profile --placement accelerator"},
      {"run", "run bad.yaml"},
      {"check", "check " + trip},
      {"check", "check bad.yaml"},
      {"check", "check " + examples + "costly_pin.yaml"},
      {"apply", "apply " + trip + " " + id_of(trip) + " -o edited.yaml"},
      {"apply", "apply bad.yaml 1234"},
      {"plan", "plan problem.json"},
      {"plan", "plan problem.json --accelerators 2 --objective latency"},
      {"plan", "plan bad.yaml"},
      {"devices", "devices"},
      {"compile", "compile " + trip + " -o trip.plan"},
      {"compile", "compile bad.yaml -o bad.plan"},
      {"run", "run trip.plan --quiet"},
      {"explain", "explain trip.plan"},
      {"check", "check trip.plan"},
      {"dot", "dot " + trip},
      {"dot", "dot " + trip + " -o picture.dot"},
      {"print", "print " + trip + " --stage placed"},
      {"print", "print bad.yaml"},
  };
  for (const auto& [schema, command] : commands) {
    SCOPED_TRACE(command);
    const CommandResult result = run_command("cleave " + command + " --json", folder.path(""));
    ASSERT_TRUE(json::accept(result.out)) << result.out << result.err;
    EXPECT_THAT(JsonSchema(schema).faults(json::parse(result.out)), IsEmpty());
    const bool fails = std::ranges::any_of(std::array{"bad.", "missing.", "nothing"},
                                           [&, &command = command](const char* word) { return command.find(word) != std::string::npos; });
    EXPECT_EQ(result.code, fails ? 1 : 0);
  }
}

// --- the schemas themselves -------------------------------------------------------------------------------------------------------------

/// Calls `visit` for every nested object and list, with a pointer to it.
template <class F>
void walk(const json& value, const json::json_pointer& at, F&& visit) {
  visit(at);
  for (auto item = value.begin(); value.is_object() && item != value.end(); ++item) walk(item.value(), at / item.key(), visit);
  if (value.is_array() && !value.empty()) walk(value[0], at / 0, visit);
}

TEST(Schemas, NoticeAFieldThatIsMissingOrNewOrOfAnotherType) {
  const json document = explained(read_model(source_dir() + "/docs/examples/round_trip.yaml"), Policy::optimal);
  int tried = 0;
  const std::set<std::string> optional{"end_line", "end_column", "via"};
  walk(document, json::json_pointer(), [&](const json::json_pointer& at) {
    json changed = document;
    if (document[at].is_object()) {
      changed[at]["undreamt_of"] = 1;
      EXPECT_FALSE(explain_schema().faults(changed).empty()) << at;
    }
    if (at.empty() || !document[at.parent_pointer()].is_object()) return;
    ++tried;
    changed = document;
    changed[at] = json::array({json::array()});
    EXPECT_FALSE(explain_schema().faults(changed).empty()) << at;
    if (optional.contains(at.back())) return;
    changed = document;
    changed[at.parent_pointer()].erase(at.back());
    EXPECT_FALSE(explain_schema().faults(changed).empty()) << at;
  });
  EXPECT_GT(tried, 100);
}

TEST(Schemas, KnowEveryKindOfDiagnostic) {
  const json kinds = json(JsonSchema::file("common"))["definitions"]["diagnostic"]["properties"]["kind"]["enum"];
  json known = json::array();
  for (const DiagnosticKindInfo& kind : diagnostic_kinds()) known.push_back(std::string(kind.name));
  EXPECT_EQ(kinds, known);
}

// --- docs/json.md -----------------------------------------------------------------------------------------------------------------------

using Schema = nlohmann::ordered_json;

std::string type_of(const Schema& schema);

/// The name that a schema refers to, such as "location", directly or with an added description.
std::string referred(const Schema& schema) {
  const Schema& of = schema.contains("allOf") ? schema["allOf"][0] : schema;
  if (!of.contains("$ref")) return "";
  const std::string to = of["$ref"];
  return to.substr(to.rfind('/') + 1);
}

std::string type_of(const Schema& schema) {
  if (const std::string name = referred(schema); !name.empty()) return "[" + name + "](#" + name + ")";
  if (!schema.contains("type")) return "any";
  if (schema["type"] == "array") return "list of " + type_of(schema["items"]);
  if (schema["type"] == "object" && schema.contains("additionalProperties")) return "object of " + type_of(schema["additionalProperties"]);
  if (schema["type"].is_string()) return schema["type"];
  return schema["type"][0].get<std::string>() + " or null";
}

/// Adds a row for each field; nested fields follow below, named by their path.
void add_rows(std::string& text, const Schema& schema, const std::string& path) {
  const Schema* object = &schema;
  std::string below = path;
  for (bool inside = true; inside;) {
    inside = false;
    if (object->contains("items")) object = &(*object)["items"], below += "[]", inside = true;
    if (object->contains("additionalProperties")) object = &(*object)["additionalProperties"], below += ".NAME", inside = true;
  }
  if (!object->contains("properties")) return;
  if (!below.empty()) below += ".";
  const Schema required = object->value("required", Schema::array());
  for (const auto& [name, field] : (*object)["properties"].items()) {
    const bool always = std::find(required.begin(), required.end(), name) != required.end();
    std::string words;
    for (const Schema& word : field.value("enum", Schema::array()))
      if (word.is_string() && name != "kind") words += (words.empty() ? " (" : ", ") + ("`" + word.get<std::string>() + "`");
    text += "| `" + below + name + "` | " + type_of(field) + (always ? "" : ", optional") + " | " +
            field["description"].get<std::string>() + (words.empty() ? "" : words + ")") + " |\n";
    add_rows(text, field, below + name);
  }
}

std::string table_of(const Schema& schema) {
  std::string text = "\n| field | type | what it is |\n|---|---|---|\n";
  add_rows(text, schema, "");
  return text;
}

TEST(Schemas, AreWhatTheDocumentSays) {
  std::string text = read_file(source_dir() + "/docs/json.md");
  const std::string mark = "<!-- from here on written by json_schema_test -->\n";
  ASSERT_NE(text.find(mark), std::string::npos);
  text.resize(text.find(mark) + mark.size());
  for (const char* name : {"explain", "explain_node", "explain_advise", "explain_sensitivity", "explain_diff", "run", "check", "apply",
                           "compile", "plan", "devices", "calibrate", "dot", "print"}) {
    const Schema schema = JsonSchema::file(name);
    EXPECT_EQ(schema["title"], name);
    text += "\n## " + std::string(name) + "\n\n" + schema["description"].get<std::string>() + "\n" + table_of(schema["definitions"][name]);
  }
  text += "\n## Shared parts\n";
  const Schema common = JsonSchema::file("common");
  for (const auto& [name, part] : common["definitions"].items()) {
    text += "\n### " + name + "\n\n" + part["description"].get<std::string>() + "\n";
    if (part.contains("properties")) text += table_of(part);
  }
  const std::string path = source_dir() + "/docs/json.md";
  if (updating_golden()) {
    if (read_file(path) != text) write_file(path, text);
    return;
  }
  EXPECT_EQ(read_file(path), text) << "CLEAVE_UPDATE_GOLDEN=1 writes what is true";
}

}  // namespace
}  // namespace cleave::testing
