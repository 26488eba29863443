// The figures of a plan: lower bound and gap of every policy against the unconstrained problem, and tables that show the costliest rows and
// the sum of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/trace/tracer.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/machine/pins.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/memory_figures.h"
#include "partitioner/report/table.h"
#include "tests/support/all_models.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Plan plan_by_policy(const Graph& graph, Policy policy) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  return plan(graph, options);
}

/// A program with its plan by each policy.
struct PlannedProgram {
  Graph graph;
  std::map<Policy, Plan> plans;
};

/// The models of the zoo, and random programs, planned once for all tests.
const std::vector<PlannedProgram>& programs() {
  static const std::vector<PlannedProgram> all = [] {
    std::vector<Graph> graphs;
    for (const std::filesystem::path& file : zoo_models()) graphs.push_back(read_model(file.string()));
    for (std::uint64_t seed = 0; seed < draws(40U); ++seed) graphs.push_back(testing::random_graph(seed));
    std::vector<PlannedProgram> made;
    for (Graph& graph : graphs) {
      std::map<Policy, Plan> plans;
      for (const Policy policy : policies()) plans.emplace(policy, plan_by_policy(graph, policy));
      made.push_back({std::move(graph), std::move(plans)});
    }
    return made;
  }();
  return all;
}

/// The line of explain on the placement's cost.
std::string cost_line(const Plan& plan) {
  const std::string text = explain_text(plan);
  const std::size_t begin = text.find("work and transfers in sum: ");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Bound, IsOfTheFreeProblemUnderEveryPolicy) {
  int above = 0;
  for (const auto& [graph, plans] : programs()) {
    SCOPED_TRACE(graph.name);
    const Plan& optimal = plans.at(Policy::optimal);
    if (!optimal.complete()) continue;
    const bool pinned = wants_accelerator(graph);
    const double bound = optimal.placement.bound_seconds;
    EXPECT_NEAR(bound, optimal.placement.objective_seconds, 1e-9 * bound);
    for (const auto& [policy, made] : plans) {
      SCOPED_TRACE(to_string(policy));
      const json placement = json::parse(explain_json(made)).at("placement");
      const double objective = placement.at("objective_seconds");
      EXPECT_NEAR(placement.at("bound_seconds").get<double>(), bound, 1e-9 * bound);
      if (pinned && policy == Policy::host) continue;  // this policy ignores pins, the bound does not
      EXPECT_GE(objective, bound * (1 - 1e-9));
      EXPECT_NEAR(placement.at("gap").get<double>(), objective > 0 ? (objective - bound) / objective : 0, 1e-6);
      above += objective > 1.5 * bound ? 1 : 0;
    }
  }
  EXPECT_GT(above, draws(10)) << "policies cost more than the optimum";
}

TEST(Bound, OfAPolicyIsSaidAsARatio) {
  const Graph graph = read_model(source_dir() + "/docs/examples/round_trip.yaml");
  EXPECT_THAT(cost_line(plan_by_policy(graph, Policy::host)), HasSubstr("`--placement host`: 3.5 s, "));
  EXPECT_THAT(cost_line(plan_by_policy(graph, Policy::host)), ::testing::MatchesRegex(".*, [0-9.]+x the bound of [0-9.]+ m?s"));
  EXPECT_THAT(cost_line(plan_by_policy(graph, Policy::accelerator)), HasSubstr("`--placement accelerator`: "));
  EXPECT_THAT(cost_line(plan_by_policy(graph, Policy::optimal)), HasSubstr("; no placement is below "));
  EXPECT_THAT(cost_line(plan_by_policy(graph, Policy::fastest)), HasSubstr("; no placement is below "));
}

TEST(Bound, ElapsedTimeAndSumsStandApart) {
  for (const auto& [graph, plans] : programs()) {
    for (const auto& [policy, made] : plans) {
      if (!made.complete()) continue;
      std::istringstream lines(explain_text(made) + summary_line(made));
      for (std::string line; std::getline(lines, line);) {
        if (line.find("predicted") != std::string::npos && !line.starts_with("remark")) {
          EXPECT_THAT(line, Not(HasSubstr("in sum"))) << line;
        }
      }
    }
  }
}

TEST(Memory, ThePhraseNamesTheLargestOfManySmallValues) {
  Tracer tracer("many");
  MemoryFigures figures{kHost, {1e6, {}}, 0};
  for (const char* name : {"a", "b"}) figures.peak.largest.push_back(tracer.input(name, {DType::f32, {8}}, {}, {}).value);
  const Graph graph = tracer.finish();
  EXPECT_EQ(memory_phrase(graph, figures), "peak memory 977 KiB: `a` (32 B), …");
  figures.peak.bytes = 64;
  EXPECT_EQ(memory_phrase(graph, figures), "peak memory 64 B: `a` (32 B), `b` (32 B)");
}

TEST(Table, ShowsTheCostliestAndWhatTheRestSumsTo) {
  Table table;
  table.add(1, {"a", "one"});
  table.add(3, {"b", "three"});
  table.add(2, {"long name", "two"});
  EXPECT_EQ(table.text(3), "  a          one\n  b          three\n  long name  two\n");
  EXPECT_EQ(table.text(1), "  b  three\n  and 2 more, 3.0 s in sum (--all shows them)\n");
  EXPECT_EQ(table.text(2), "  b          three\n  long name  two\n  and 1 more, 1.0 s in sum (--all shows it)\n");
  EXPECT_EQ(Table().text(kUsualRows), "");
}

}  // namespace
}  // namespace cleave::testing
