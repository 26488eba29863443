// Programs that wait: the text and the position of the last line of the report, and the warnings.
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
  std::string account;  ///< the beginning of the last line
  int line;
  Said said;
  friend void PrintTo(const Scenario& s, std::ostream* out) { *out << s.model; }
};

/// `sort` runs on the host alone, as with the simulated accelerator.
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
    ::testing::Values(
        Scenario{"s000_slow_producer", "input-bound", 10, {{slow_producer, 10}}},
        Scenario{"s002_data_loading", "input-bound", 12, {{slow_producer, 12}}},
        Scenario{"s000_slow_first", "input-bound", 8, {{slow_producer, 8}}},
        Scenario{"s000_slow_sink", "output-bound", 11, {{slow_consumer, 11}}},
        Scenario{"s004_report_each", "output-bound", 9, {{slow_consumer, 9}}}, Scenario{"hid", "output-bound", 8, {{slow_consumer, 8}}},
        Scenario{"s000_cpuonly_nobody_needs", "output-bound", 14, {{slow_consumer, 14}}},
        Scenario{"s002_preprocess_host", "input-bound", 13, {{unused, 3}, {slow_producer, 12}, {costly_pin, 13}}},
        Scenario{"gemm_io", "launch-bound", 7, {{costly_pin, 7}, {launch_bound, 7}}},
        Scenario{"s003_small_batches_host", "launch-bound", 12, {{costly_pin, 12}, {launch_bound, 12}}},
        Scenario{"s000_print_every_step", "launch-bound", 9, {{launch_bound, 9}}},
        Scenario{"s004_toggle", "compute-bound", 8, {}},  // the marks cost nothing
        Scenario{"s003_pretransfer", "compute-bound", 10, {}}, Scenario{"s000_scalar_control", "compute-bound", 8, {}},
        Scenario{"st", "round-trip-bound", 7, {{round_trip, 7}}},  // a state behaves like a loop-carried value
        Scenario{"loopst", "round-trip-bound", 9, {{round_trip, 9}}}, Scenario{"io", "round-trip-bound", 10, {{round_trip, 10}}},
        Scenario{"two", "round-trip-bound", 10, {{round_trip, 10}, {round_trip, 11}}},
        Scenario{"s000_cpuonly", "round-trip-bound", 13, {{round_trip, 13}}},
        Scenario{"s000_scalar_control_host", "compute-bound", 11, {{round_trip, 12}}},
        Scenario{"control_only_50040", "round-trip-bound", 20, {{unused, 4}, {unused, 21}, {round_trip, 20}}},
        Scenario{"accpin", "round-trip-bound", 10, {{round_trip, 10}}},  // the sorts cost more than the pin between them
        Scenario{"assumed", "round-trip-bound", 7, {{round_trip, 7}}}, Scenario{"dead", "host-bound", 5, {{unused, 6}}},
        Scenario{"dead_initial_60331", "output-bound", 16, {{unused, 4}, {unused, 6}, {unused, 13}, {invariant_host_work, 16}}},
        Scenario{"inv", "host-bound", 12, {{invariant_host_work, 12}}}, Scenario{"inv_mark", "compute-bound", 9, {{round_trip, 8}}},
        Scenario{"inv_mark2", "compute-bound", 9, {}}, Scenario{"s001_too_big", "input-bound", 7, {{memory_fallback, 7}}},
        Scenario{"s004_naive", "transfer-bound", 3, {}}, Scenario{"s004_naive_pinned", "input-bound", 8, {{costly_pin, 8}}},
        Scenario{"rare", "transfer-bound", 3, {}}, Scenario{"hostrare", "compute-bound", 11, {}},
        Scenario{"s000_many_small", "compute-bound", 70, {}}, Scenario{"shadow", "host-bound", 8, {{value, 5}}}),
    [](const auto& scenario) { return scenario.param.model; });

/// A mark changes only the message: the second model is the first one with the mark that its warning advises.
TEST(Marks, ChangeNoPlan) {
  const Plan plain = plan_scenario("inv_mark"), marked = plan_scenario("inv_mark2");
  EXPECT_EQ(plain.placement.objective_seconds, marked.placement.objective_seconds);
  EXPECT_EQ(plain.predicted_seconds, marked.predicted_seconds);
  EXPECT_EQ(plain.placement.on_accelerator, marked.placement.on_accelerator);
  EXPECT_EQ(plain.diagnostics.size(), 1U);
  EXPECT_TRUE(marked.diagnostics.empty()) << to_text(marked.diagnostics);
}

/// The accelerator waits for its own decision: for the host to receive it, to compute, and to send the result.
TEST(StartedWork, IsToldAsOneRoundTripWithItsPrice) {
  const Plan plan = plan_scenario("control_only_50040");
  ASSERT_EQ(plan.round_trips.size(), 1U) << to_text(plan.diagnostics);
  const RoundTrip& trip = plan.round_trips[0];
  EXPECT_EQ(trip.via, Via::control);
  EXPECT_EQ(trip.out_bytes, 10) << "`q3`, ten times";
  EXPECT_EQ(trip.back_bytes, 5 * 512 * 512 * 4) << "`x1`, when the branch is taken";
  EXPECT_EQ(trip.frequency, 5);
  EXPECT_NEAR(trip.seconds, 5.5e-3, 0.2e-3) << "50 calls of 0.1 ms, and copies";
  ASSERT_EQ(trip.out.size(), 1U);
  EXPECT_EQ(plan.transfers.items[trip.out[0]].location.line, 14);
  EXPECT_GT(plan.account.kind_seconds, 4.9e-3);
  EXPECT_LT(plan.account.seconds, 6.1e-3);
  const std::string text = to_text(plan.diagnostics);
  EXPECT_NE(text.find("`s9` makes the accelerator wait for the host in every iteration that takes this branch"), std::string::npos) << text;
  EXPECT_NE(text.find("yaml:14:13: note: `q3` (bool[], 1 B) leaves the accelerator here"), std::string::npos) << text;
  EXPECT_NE(text.find("yaml:15:9: note: the accelerator's decision starts the work of the host here (through the branch)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("yaml:14:20: note: accelerator work depends on the result here"), std::string::npos) << text;
}

/// The last line shows operators as the user wrote them.
TEST(LastLine, NamesWhatWasWritten) {
  for (const auto& [model, name] : {std::pair<std::string, std::string>{"s002_preprocess_host", "`images / 255`"},
                                    {"dead", "`x * 2`"},
                                    {"gemm_io", "`… + 0.001`"},
                                    {"s000_print_every_step", "`… - y`"}}) {
    const std::string line = account_line(plan_scenario(model));
    EXPECT_NE(line.find(name), std::string::npos) << line;
  }
}

/// The advice must not promise a kernel for a user's function.
TEST(HostFunctionAdvice, IsWhatWouldHideIt) {
  const std::string text = to_text(plan_scenario("io").diagnostics);
  EXPECT_EQ(text.find("accelerator kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("hidden behind other work it would save up to about 50 s"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave::testing
