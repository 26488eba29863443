// The HTML page of a plan: for any program it is well formed and loads nothing (tests/support/page_rules.py), is deterministic, links round
// trips to lines, and stays small.
#include "partitioner/report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/base/units.h"
#include "models/model.h"
#include "partitioner/report/explain.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/planted.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plan plan_as_planted(const Graph& graph, Policy policy = Policy::accelerator) {
  return plan(graph, planted_options(policy));
}

/// The errors in the pages; empty if there are none.
std::string faults(const std::vector<std::string>& pages) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < pages.size(); ++i) folder.write(std::to_string(i) + ".html", pages[i]);
  const CommandResult result = run_command("python3 tests/support/page_rules.py " + folder.path("*.html"));
  return result.code == 0 ? "" : result.out + result.err + "(exit code " + std::to_string(result.code) + ")";
}

std::size_t count_of_text(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Page, OfTheZooAndTheCasesIsWellFormed) {
  std::vector<std::string> pages;
  for (const char* folder : {"/models", "/tests/golden/cases"}) {
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const Graph graph = read_model(entry.path().string());
      pages.push_back(html_page(plan_as_planted(graph), {}));
    }
  }
  EXPECT_GT(pages.size(), 20u);
  EXPECT_EQ(faults(pages), "");
}

TEST(Page, OfRandomProgramsIsWellFormed) {
  std::vector<std::string> pages;
  for (std::uint64_t seed = 0; seed < draws(100U); ++seed)
    pages.push_back(html_page(plan_as_planted(parse_model(Planted(seed).text(), "planted.yaml")), {}));
  EXPECT_EQ(faults(pages), "");
}

TEST(Page, IsTheSameEachTime) {
  const Graph graph = read_model(source_dir() + "/models/kmeans.yaml");
  EXPECT_EQ(html_page(plan_as_planted(graph), {}), html_page(plan_as_planted(graph), {}));
}

const std::string kEvil = "<script>alert(1)</script>";
const std::string kHostile = "cleave: 1\nmodel: \"a<b>&'\"\nparameters:\n  w: {type: \"f32[64, 64]\", normal: [0, 1], seed: 1}  # " +
                             kEvil +
                             " ]]> & --> \"'\nprogram:\n  - for: step in 9\n    do:\n      - w: sort(matmul(w, w))\n      - print(\"" +
                             kEvil + "\", w)\noutputs: [w]\n";

TEST(Page, EscapesWhatTheUserWrote) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m<img src=x onerror=alert(1)>&amp;\xff.yaml", kHostile);
  const std::string page = html_page(plan_as_planted(read_model(file)), {});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, Not(HasSubstr(kEvil)));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(count_of_text(page, "&lt;script&gt;alert(1)&lt;/script&gt;"), 2u);  // the comment and the call
  EXPECT_THAT(page, HasSubstr("&amp;amp;\\xff.yaml"));
}

/// The plan as drawn by Graphviz.
std::string drawn(const Plan& plan) {
  const TemporaryFolder folder;
  const CommandResult result = run_command("dot -Tsvg " + folder.write("plan.dot", dot(plan)));
  EXPECT_EQ(result.code, 0) << result.err;
  return result.out;
}

TEST(Page, HoldsThePictureWithIdsOfItsOwn) {
  for (const std::string& text : {kHostile, Planted(3).text()}) {
    const Plan plan = plan_as_planted(parse_model(text, "m.yaml"));
    const std::string svg = drawn(plan), page = html_page(plan, {{svg, ""}, {}});
    EXPECT_EQ(faults({page}), "");
    EXPECT_THAT(svg, HasSubstr(" id=\"node1\""));
    EXPECT_THAT(page, HasSubstr(" id=\"picture-node1\""));
    EXPECT_THAT(page, Not(HasSubstr("<?xml")));
    EXPECT_THAT(page, Not(HasSubstr(kEvil)));
    EXPECT_EQ(count_of_text(page, "<!DOCTYPE"), 1u);
    EXPECT_GE(count_of_text(page, "<svg"), 2u) << "and the timeline";
  }
}

TEST(Page, SaysWhatALineCalls) {
  const std::string page = html_page(plan_as_planted(read_model(source_dir() + "/models/mlp_inference.yaml")), {});
  const std::size_t at = page.find("<tr id=\"line-1-22\" title=\"in what is called here ");
  ASSERT_NE(at, std::string::npos) << "the call of `dense_relu`";
  EXPECT_THAT(page.substr(at, 250), HasSubstr("<td class=\"number about\">("));
}

TEST(Page, SaysWhyThereIsNoPicture) {
  const Plan plan = plan_as_planted(parse_model(kHostile, "m.yaml"));
  const std::string page = html_page(plan, {{"", "cannot run Graphviz (`dot`)"}, {}});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, HasSubstr("cannot run Graphviz (<code>dot</code>)"));
  EXPECT_THAT(page, HasSubstr("href=\"#picture\""));
}

TEST(Page, ShowsNoControlCharacters) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "m.yaml", "cleave: 1\n# \x1b[31m\x01 \xef\xbf\xbf \xe2\x80\xae\ninputs:\n  x: f32[4]\nprogram:\n  - y: x + x\noutputs: [y]\n");
  const Graph graph = read_model(file);
  const std::string page = html_page(plan_as_planted(graph), {});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Page, LeadsFromRoundTripsToTheirLines) {
  const Graph graph = read_model(source_dir() + "/models/simulator_loop.yaml");
  const Plan plan = plan_as_planted(graph);
  ASSERT_FALSE(plan.round_trips.empty());
  const std::string page = html_page(plan, {});
  for (std::size_t i = 0; i < plan.round_trips.size(); ++i) {
    const int line = plan.graph->nodes[plan.round_trips[i].blamed].location.line;
    const std::string row = "<tr id=\"round-trip-" + std::to_string(i + 1) + "\">", id = "line-1-" + std::to_string(line);
    ASSERT_THAT(page, HasSubstr(row));
    EXPECT_THAT(page.substr(page.find(row), 300), HasSubstr("href=\"#" + id + "\""));
    ASSERT_THAT(page, HasSubstr("<tr id=\"" + id + "\""));
    EXPECT_THAT(page, HasSubstr("class=\"badge\" href=\"#round-trip-" + std::to_string(i + 1) + "\""));
  }
}

TEST(Page, DrawsTheRunAndATripOfEachLoop) {
  const std::string page = html_page(plan_as_planted(read_model(source_dir() + "/models/kmeans.yaml")), {});
  EXPECT_THAT(page, HasSubstr("<h3>The run, "));
  EXPECT_THAT(page, HasSubstr("<h3>One trip of the loop at line 14, "));
  EXPECT_THAT(page, HasSubstr("Of 15 trips this is number 5"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#timeline-1\">"));
  EXPECT_THAT(page, Not(HasSubstr("unobserved-")));
}

TEST(Page, DrawsNoTimelineWhereNothingTakesTime) {
  const Graph graph = parse_model("cleave: 1\ninputs:\n  x: f32[4]\nprogram:\n  - y: x\noutputs: [y]\n", "m.yaml");
  const std::string page = html_page(plan_as_planted(graph, Policy::host), {});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, Not(HasSubstr("id=\"timeline\"")));
}

TEST(Page, ShowsWhatWasObservedBesideWhatWasPredicted) {
  const Graph graph = parse_model("cleave: 1\ninputs:\n  x: \"f32[400, 400]\"\nprogram:\n  - y: sort(x)\noutputs: [y]\n", "m.yaml");
  PlanOptions options = planted_options(Policy::accelerator);
  const Plan before = plan(graph, options);
  for (const Node& node : graph.nodes)
    if (node.op) options.costs.profile.host_seconds[to_string(node.location)] = 0.125;
  const Plan after = plan(graph, options);
  ASSERT_NE(before.predicted_seconds, after.predicted_seconds);
  const std::string page = html_page(after, {{}, before.costed});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, HasSubstr("<h3>The run, 0.12 s</h3>"));
  EXPECT_THAT(page, HasSubstr("<h3>The run, " + format_seconds(before.predicted_seconds) + "</h3>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\" class=\"number\">before</th>"));
}

TEST(Page, ShowsTheCostsOfFilesThatCannotBeRead) {
  const Graph graph = parse_model("cleave: 1\ninputs:\n  x: \"f32[400, 400]\"\nprogram:\n  - y: matmul(x, x)\noutputs: [y]\n", "gone.yaml");
  const std::string page = html_page(plan_as_planted(graph), {});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, HasSubstr("cannot be read"));
  EXPECT_THAT(page, HasSubstr("<tr id=\"line-1-5\" title="));
}

TEST(Page, ShowsTheFilesOfAProgramThatWasTraced) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 1; i <= 500; ++i) text += "// line " + std::to_string(i) + " of a < b\n";
  const auto file = std::make_shared<const std::string>(folder.write("layers.cpp", text));
  Graph graph = read_model(folder.write("m.yaml", "cleave: 1\ninputs:\n  x: f32[4]\nprogram:\n  - y: tanh(x + x)\noutputs: [y]\n"));
  for (Node& node : graph.nodes)
    if (node.op && node.op->name == "tanh") node.location = {file, 250, 7, nullptr};
  const std::string page = html_page(plan_as_planted(graph), {});
  EXPECT_EQ(faults({page}), "");
  for (const std::string& shown : {*file, folder.path("m.yaml")}) EXPECT_THAT(page, HasSubstr("<h3>" + shown + "</h3>"));
  EXPECT_THAT(page, HasSubstr("// line 250 of a &lt; b"));
  EXPECT_THAT(page, HasSubstr("layers.cpp:250:7</a>"));
  EXPECT_THAT(page, Not(HasSubstr("// line 200 of"))) << "far from all that was traced";
  EXPECT_EQ(count_of_text(page, "<tr class=\"gap\">"), 1u);
}

TEST(Page, OfAModelWithErrorsHasTheMessages) {
  const Graph graph = parse_model("cleave: 1\nprogram:\n  - y: matmul(x, x)\noutputs: [y]\n", "wrong.yaml");
  ASSERT_FALSE(graph.ok());
  const std::string page = html_page(plan_as_planted(graph), {});
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, HasSubstr("no plan: the model has errors"));
  EXPECT_THAT(page, HasSubstr("unknown"));
}

TEST(Page, OfTenThousandOperationsStaysSmallAndSaysWhatIsLeftOut) {
  std::string text = "cleave: 1\nparameters:\n  w: {type: \"f32[64, 64]\", normal: [0, 1], seed: 1}\nprogram:\n";
  for (int i = 0; i < 2500; ++i) text += "  - w: sort(matmul(w, w))\n  - w: tanh(w) + w\n";
  const TemporaryFolder folder;
  const Plan plan = plan_as_planted(read_model(folder.write("large.yaml", text + "outputs: [w]\n")));
  ASSERT_GE(plan.graph->nodes.size(), 10'000u);
  const std::string page = html_page(plan, {});
  EXPECT_LT(page.size(), 3'000'000u);
  EXPECT_EQ(faults({page}), "");
  EXPECT_THAT(page, HasSubstr("cheaper ones are left out"));
  EXPECT_THAT(page, HasSubstr("cheaper lines are left out"));
}

}  // namespace
}  // namespace cleave::testing
