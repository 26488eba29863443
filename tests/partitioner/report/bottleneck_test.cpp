// Programs that wait: what the last line says, where, and which warnings there are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/account_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using Said = std::vector<std::pair<DiagnosticKind, int>>;  ///< kind and line

struct Scenario {
  std::string model;
  std::string account;  ///< what the last line begins with
  int line;
  Said said;
  friend void PrintTo(const Scenario& s, std::ostream* out) { *out << s.model; }
};

/// Sorting is the host's, as on the simulated accelerator.
Plan plan_scenario(const std::string& name) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.supported = [](const Graph& graph, NodeId id) { return graph.nodes[id].op->name != "sort"; };
  return plan(read_model(source_dir() + "/tests/data/bottleneck/" + name + ".yaml"), options);
}

class Scenarios : public ::testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, AreAnsweredInTheLastLine) {
  const Scenario& expected = GetParam();
  const Plan plan = plan_scenario(expected.model);
  ASSERT_TRUE(plan.complete()) << to_text(plan.diagnostics);
  const std::string line = account_line(plan);
  EXPECT_EQ(line.substr(0, line.find(':')), expected.account) << line;
  EXPECT_NE(line.find(expected.model + ".yaml:" + std::to_string(expected.line) + ":"), std::string::npos) << line;
  Said said;
  for (const Diagnostic& each : plan.diagnostics) said.emplace_back(each.kind, each.location.line);
  EXPECT_EQ(said, expected.said) << to_text(plan.diagnostics);
}

using enum DiagnosticKind;

INSTANTIATE_TEST_SUITE_P(
    Bottleneck, Scenarios,
    ::testing::Values(Scenario{"s000_slow_producer", "input-bound", 10, {{slow_producer, 10}}},
                      Scenario{"s002_data_loading", "input-bound", 12, {{slow_producer, 12}}},
                      Scenario{"s000_slow_first", "input-bound", 8, {{slow_producer, 8}}},
                      Scenario{"s000_slow_sink", "output-bound", 11, {{slow_consumer, 11}}},
                      Scenario{"s004_report_each", "output-bound", 9, {{slow_consumer, 9}}},
                      Scenario{"hid", "output-bound", 8, {{slow_consumer, 8}}},
                      Scenario{"s000_cpuonly_nobody_needs", "output-bound", 14, {{slow_consumer, 14}}},
                      Scenario{"s002_preprocess_host", "input-bound", 13, {{unused, 3}, {slow_producer, 12}, {costly_pin, 13}}},
                      Scenario{"gemm_io", "launch-bound", 7, {{costly_pin, 7}, {launch_bound, 7}}},
                      Scenario{"s003_small_batches_host", "launch-bound", 12, {{costly_pin, 12}, {launch_bound, 12}}},
                      Scenario{"s000_print_every_step", "launch-bound", 9, {{launch_bound, 9}}},
                      Scenario{"s004_toggle", "compute-bound", 8, {}},  // the marks cost nothing
                      Scenario{"s003_pretransfer", "compute-bound", 10, {}}, Scenario{"s000_scalar_control", "compute-bound", 8, {}},
                      Scenario{"st", "round-trip-bound", 7, {{round_trip, 7}}},  // a state is as if a loop carried it
                      Scenario{"loopst", "round-trip-bound", 9, {{round_trip, 9}}},
                      Scenario{"io", "round-trip-bound", 10, {{round_trip, 10}}},
                      Scenario{"two", "round-trip-bound", 10, {{round_trip, 10}, {round_trip, 11}}},
                      Scenario{"s000_cpuonly", "round-trip-bound", 13, {{round_trip, 13}}}),
    [](const auto& scenario) { return scenario.param.model; });

/// A mark changes nothing but the message: the second model is the first with the mark that its warning advises.
TEST(Marks, ChangeNoPlan) {
  const Plan plain = plan_scenario("inv_mark"), marked = plan_scenario("inv_mark2");
  EXPECT_EQ(plain.placement.objective_seconds, marked.placement.objective_seconds);
  EXPECT_EQ(plain.predicted_seconds, marked.predicted_seconds);
  EXPECT_EQ(plain.placement.on_accelerator, marked.placement.on_accelerator);
  EXPECT_EQ(plain.diagnostics.size(), 1U);
  EXPECT_TRUE(marked.diagnostics.empty()) << to_text(marked.diagnostics);
}

/// No kernel is promised for a function of the user's.
TEST(HostFunctionAdvice, IsWhatWouldHideIt) {
  const std::string text = to_text(plan_scenario("io").diagnostics);
  EXPECT_EQ(text.find("accelerator kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("hidden behind other work it would save up to about 50 s"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave::testing
