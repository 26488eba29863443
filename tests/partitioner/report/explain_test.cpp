// The reports of a plan: the JSON document against a table of its fields, the picture against Graphviz, both deterministic.
#include "partitioner/report/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/model.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {
namespace {

using nlohmann::json;

Plan plan_with_remarks(const Graph& graph, Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  options.diagnostics.round_trip_remarks = true;
  return plan(graph, options);
}

Plan case_plan(const std::string& name) {
  return plan_with_remarks(read_model(source_dir() + "/tests/golden/cases/" + name + ".yaml"));
}

/// The type of each field: `n`umber, `s`tring, `b`ool, `l`ist, `o`bject; a trailing `?` allows null.
using Fields = std::map<std::string, std::string>;

void expect_fields(const json& object, const Fields& fields, const std::string& where) {
  ASSERT_TRUE(object.is_object()) << where;
  for (const auto& [name, type] : fields) {
    SCOPED_TRACE(where + "." + name);
    ASSERT_TRUE(object.contains(name));
    const json& value = object.at(name);
    if (type.size() > 1 && value.is_null()) continue;
    switch (type[0]) {
      case 'n': EXPECT_TRUE(value.is_number()); break;
      case 's': EXPECT_TRUE(value.is_string()); break;
      case 'b': EXPECT_TRUE(value.is_boolean()); break;
      case 'l': EXPECT_TRUE(value.is_array()); break;
      default: expect_fields(value, {{"file", "s"}, {"line", "n"}, {"column", "n"}}, where + "." + name);
    }
  }
}

void expect_document(const json& document) {
  expect_fields(document,
                {{"cleave", "s"},
                 {"model", "s"},
                 {"regions", "l"},
                 {"nodes", "l"},
                 {"transfers", "l"},
                 {"round_trips", "l"},
                 {"diagnostics", "l"},
                 {"fused", "l"}},
                "document");
  expect_fields(document.at("machine"), {{"name", "s"}, {"provenance", "s"}}, "machine");
  expect_fields(document.at("placement"),
                {{"objective_seconds", "n"},
                 {"bound_seconds", "n"},
                 {"gap", "n"},
                 {"predicted_seconds", "n"},
                 {"capacity_bytes", "n?"},
                 {"all_host_seconds", "n"},
                 {"all_accelerator_seconds", "n"},
                 {"all_host_predicted_seconds", "n?"},
                 {"all_accelerator_predicted_seconds", "n?"}},
                "placement");
  expect_fields(document.at("totals"),
                {{"transfers", "n"}, {"sends", "n"}, {"bytes_per_run", "n"}, {"transfer_seconds", "n"}, {"round_trips", "n"}}, "totals");
  const std::map<std::string, Fields> lists{
      {"regions", {{"id", "n"}, {"parent", "n?"}, {"kind", "s"}, {"frequency", "n"}, {"assumed", "b"}, {"location", "o?"}}},
      {"nodes",
       {{"id", "n"},
        {"name", "s"},
        {"op", "s"},
        {"on", "l"},
        {"region", "n"},
        {"frequency", "n"},
        {"host_seconds", "n"},
        {"accelerator_seconds", "n"},
        {"cause", "s?"},
        {"location", "o?"}}},
      {"transfers",
       {{"id", "n"},
        {"value", "n"},
        {"name", "s"},
        {"direction", "s"},
        {"from", "s"},
        {"to", "s"},
        {"kind", "s"},
        {"bytes", "n"},
        {"frequency", "n"},
        {"seconds", "n"},
        {"region", "n"},
        {"explicit", "b"},
        {"round_trip", "n?"},
        {"location", "o?"}}},
      {"round_trips",
       {{"id", "n"},
        {"through", "l"},
        {"out", "l"},
        {"back", "l"},
        {"via", "s"},
        {"frequency", "n"},
        {"bytes", "n"},
        {"seconds", "n"},
        {"location", "o?"}}},
      {"diagnostics", {{"kind", "s"}, {"severity", "s"}, {"message", "s"}, {"location", "o?"}, {"notes", "l"}}}};
  for (const auto& [name, fields] : lists) {
    for (const json& item : document.at(name)) {
      expect_fields(item, fields, name);
      if (item.contains("id")) {
        EXPECT_EQ(&document.at(name).at(item.at("id").get<std::size_t>()), &item);
      }
    }
  }
  double bytes = 0;
  for (const json& t : document.at("transfers")) bytes += t.at("bytes").get<double>() * t.at("frequency").get<double>();
  EXPECT_NEAR(document.at("totals").at("bytes_per_run").get<double>(), bytes, 1e-9 * bytes);
  EXPECT_EQ(document.at("totals").at("transfers").get<std::size_t>(), document.at("transfers").size());
}

/// Options with which element-wise operations of one shape are fused.
PlanOptions elementwise_options() {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.host_fuses = options.costs.accelerator_fuses = [](const KernelRequest& request) {
    return std::all_of(request.steps.begin(), request.steps.end(),
                       [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == request.steps[0].type.shape; });
  };
  return options;
}

/// The objective is the cost of executions and transfers minus the savings of fused kernels; some of the programs have such kernels.
TEST(ExplainJson, CostsAddUpWithWhatKernelsSave) {
  PlanOptions options = elementwise_options();
  std::size_t kernels = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    options.costs.policy = seed % 2 ? Policy::accelerator : Policy::optimal;
    const Plan made = plan(testing::random_graph(seed), options);
    if (!made.complete()) continue;
    const json document = json::parse(explain_json(made));
    double sum = document.at("totals").at("transfer_seconds").get<double>(), gross = sum;
    for (const json& node : document.at("nodes")) {
      for (const json& side : node.at("on"))
        gross += node.at("frequency").get<double>() * node.at(side == "host" ? "host_seconds" : "accelerator_seconds").get<double>();
    }
    sum = gross;
    for (const json& kernel : document.at("fused")) {
      EXPECT_GE(kernel.at("nodes").size(), 2U);
      sum -= kernel.at("saved_seconds").get<double>();
      ++kernels;
    }
    EXPECT_NEAR(sum, document.at("placement").at("objective_seconds").get<double>(), 1e-9 * gross);
    const bool said = explain_text(made).find("of them run as") != std::string::npos;
    EXPECT_EQ(said, !document.at("fused").empty());
  }
  EXPECT_GT(kernels, 30U);
}

/// A kernel that would delay one call by another is split, if workers may execute both calls at once.
TEST(ExplainJson, KernelsAreThoseThatRun) {
  const std::string call = "{library: l.so, takes: [\"f32[64, 64]\"], returns: \"f32[64, 64]\", pure: true, seconds: 0.01}\n";
  const Graph graph = parse_model("cleave: 1\nmodel: m\ninputs: {x: \"f32[64, 64]\"}\nhost_functions:\n  f: " + call + "  g: " + call +
                                      "program:\n  - a: f(x)\n  - c: (x + 1) * 3\n  - b: g(c)\n  - e: a * 2 + c\noutputs: [b, e]\n",
                                  "m.yaml");
  PlanOptions options = elementwise_options();
  options.costs.policy = Policy::host;
  for (const int workers : {1, 2}) {
    options.costs.workers = workers;
    const Plan made = plan(graph, options);
    ASSERT_TRUE(made.complete());
    const json fused = json::parse(explain_json(made)).at("fused");
    std::vector<std::size_t> sizes;
    for (const json& kernel : fused) sizes.push_back(kernel.at("nodes").size());
    EXPECT_EQ(sizes, workers == 1 ? std::vector<std::size_t>({4}) : std::vector<std::size_t>({2, 2}));
    EXPECT_NE(explain_text(made).find(workers == 1 ? "4 of them run as 1 kernel," : "4 of them run as 2 kernels,"), std::string::npos)
        << explain_text(made);
  }
}

TEST(ExplainJson, HasItsFieldsOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Plan plan = plan_with_remarks(testing::random_graph(seed), seed % 2 ? Policy::accelerator : Policy::optimal);
    const std::string text = explain_json(plan);
    EXPECT_EQ(text.find(": nan"), std::string::npos);
    expect_document(json::parse(text));
    EXPECT_EQ(text, explain_json(plan));
    EXPECT_EQ(explain_text(plan), explain_text(plan));
  }
}

TEST(ExplainText, SaysThatAllOnTheHostLeavesPinsAside) {
  const std::string head = "cleave: 1\nparameters:\n  w: {type: \"f32[64, 64]\", value: 1}\nprogram:\n  - y: matmul(w, w)\n";
  const Plan pinned = plan_with_remarks(parse_model(head + "    place: accelerator\noutputs: [y]\n", "m.yaml"), Policy::optimal);
  const Plan host = plan_with_remarks(parse_model(head + "    place: accelerator\noutputs: [y]\n", "m.yaml"), Policy::host);
  const Plan free = plan_with_remarks(parse_model(head + "outputs: [y]\n", "m.yaml"), Policy::optimal);
  EXPECT_LT(pinned.all_host_seconds, pinned.placement.objective_seconds);
  EXPECT_EQ(pinned.all_host_seconds, host.placement.objective_seconds);
  EXPECT_NE(explain_text(pinned).find("x, pins to the accelerator aside), all on the accelerator "), std::string::npos);
  EXPECT_EQ(explain_text(free).find("aside"), std::string::npos);
}

TEST(ExplainJson, DescribesARoundTrip) {
  const json document = json::parse(explain_json(case_plan("02_host_in_the_update")));
  expect_document(document);
  ASSERT_EQ(document["round_trips"].size(), 1u);
  const json& trip = document["round_trips"][0];
  EXPECT_EQ(trip["via"], "data");
  EXPECT_EQ(trip["frequency"], 1000);
  EXPECT_EQ(trip["bytes"], 2 * 4096 * 4 * 1000);
  for (const char* way : {"out", "back"}) {
    ASSERT_EQ(trip[way].size(), 1u);
    EXPECT_EQ(document["transfers"][trip[way][0].get<std::size_t>()]["round_trip"], 0);
  }
  EXPECT_EQ(document["nodes"][trip["through"][0].get<std::size_t>()]["cause"], "no-kernel");
  EXPECT_EQ(document["totals"]["round_trips"], 1);
  EXPECT_EQ(document["diagnostics"][0]["severity"], "warning");
}

TEST(ExplainJson, ModelsWithErrorsGiveDiagnosticsOnly) {
  const json document = json::parse(explain_json(case_plan("12_endless")));
  EXPECT_EQ(document.size(), 2u);
  EXPECT_EQ(document["diagnostics"][0]["kind"], "endless-loop");
}

TEST(Summary, CountsWhatMatters) {
  const std::string line = summary_line(case_plan("02_host_in_the_update"));
  EXPECT_NE(line.find("2 sends"), std::string::npos) << line;
  EXPECT_NE(line.find("1 round trip;"), std::string::npos) << line;
  EXPECT_NE(line.find("machine `simulated`, assumed"), std::string::npos) << line;
}

// --- dot --------------------------------------------------------------------------------------------------------------------------------

TEST(Dot, ShowsDevicesLoopsAndRoundTrips) {
  const std::string picture = dot(case_plan("02_host_in_the_update"));
  EXPECT_NE(picture.find("label=\"host\""), std::string::npos);
  EXPECT_NE(picture.find("label=\"accelerator:0\""), std::string::npos);
  EXPECT_NE(picture.find("for, 1000 times"), std::string::npos);
  EXPECT_NE(picture.find("#cc0000"), std::string::npos);
  EXPECT_EQ(dot(case_plan("01_regression")).find("#cc0000"), std::string::npos) << "nothing is red without a round trip";
}

TEST(Dot, GraphvizAcceptsRandomPictures) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz is not installed";
  const testing::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Plan plan = plan_with_remarks(testing::random_graph(seed));
    ASSERT_EQ(dot(plan), dot(plan));
    std::ofstream(folder.path("g.dot")) << dot(plan);
    ASSERT_EQ(std::system(("dot -Tsvg " + folder.path("g.dot") + " -o " + folder.path("g.svg") + " 2>" + folder.path("err")).c_str()), 0);
    EXPECT_EQ(std::ifstream(folder.path("err")).peek(), std::ifstream::traits_type::eof()) << "Graphviz complains";
    EXPECT_NE(std::ifstream(folder.path("g.svg")).peek(), std::ifstream::traits_type::eof());
  }
}

}  // namespace
}  // namespace cleave::testing
