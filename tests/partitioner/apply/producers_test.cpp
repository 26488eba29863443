// The host work of loops that workers make ahead: what belongs to it, its predicted time, and the warning of a loop that waits for it.
#include "partitioner/apply/producers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string host_function(const std::string& name, const std::string& takes, double seconds, const std::string& rest = "") {
  return "  " + name + ": {library: ./l.so, symbol: s, takes: [" + takes + R"(], returns: "f32[8]", seconds: )" + std::to_string(seconds) +
         rest + "}\n";
}

std::string data_model(const std::string& program, double data_seconds = 1e-3, double step_seconds = 1e-3) {
  const std::string pure = ", pure: true";
  return "cleave: 1\nmodel: m\ninputs: {x: \"f32[8]\", c: \"f32[8]\"}\nhost_functions:\n" +
         host_function("decode", "\"i32[]\"", data_seconds, pure) + host_function("clean", "\"f32[8]\"", data_seconds, pure) +
         host_function("note", "\"i32[]\"", data_seconds) + host_function("step", "\"f32[8]\", \"f32[8]\"", step_seconds) + "program:\n" +
         program + "outputs: [x]\n";
}

Plan planned(const std::string& text, int workers = 1) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::host;
  options.costs.workers = workers;
  const Graph graph = parse_model(text, "m.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  Plan result = plan(graph, options);
  EXPECT_TRUE(result.complete()) << to_text(result.diagnostics);
  return result;
}

/// The functions that a loop of this body calls ahead, in order.
std::vector<std::string> called_ahead(const std::string& body, const std::string& head = "  - for: i in 100\n", int workers = 1) {
  const Plan plan = planned(data_model(head + "    do:\n" + body), workers);
  std::vector<std::string> names;
  for (const Producer& producer : plan.program.producers)
    for (const NodeId node : producer.nodes)
      if (const HostFunction* function = plan.graph->nodes[node].host_function()) names.push_back(function->name);
  return names;
}

TEST(Producers, AreWhatFollowsFromTheCounterAndValuesFromOutside) {
  const std::string takes = "      - x: step(x, d)\n";
  EXPECT_THAT(called_ahead("      - d: clean(decode(i) * c)\n" + takes), ElementsAre("decode", "clean"));
  EXPECT_THAT(called_ahead("      - d: decode(i) + clean(x)\n" + takes), ElementsAre("decode")) << "`x` is of the trip before";
  EXPECT_THAT(called_ahead("      - d: note(i)\n" + takes), IsEmpty()) << "effects are never made ahead";
  EXPECT_THAT(called_ahead("      - d: clean(note(i))\n" + takes), IsEmpty());
  EXPECT_THAT(called_ahead("      - d: clean(decode(i)) + clean(x)\n" + takes), ElementsAre("decode"))
      << "with one worker, no function is called by two threads";
  EXPECT_THAT(called_ahead("      - d: clean(decode(i)) + clean(x)\n" + takes, "  - for: i in 100\n", 2), ElementsAre("decode", "clean"));
}

TEST(Producers, AreAsTheLoopStates) {
  const std::string body = "      - x: step(x, decode(i))\n";
  EXPECT_THAT(called_ahead(body, "  - for: i in 100\n    prefetch: 0\n"), IsEmpty());
  EXPECT_THAT(called_ahead(body, "  - for: i in 1\n"), IsEmpty());
  EXPECT_THAT(called_ahead(body, "  - for: i in 100\n", 0), IsEmpty());
  EXPECT_EQ(planned(data_model("  - for: i in 100\n    prefetch: 7\n    do:\n" + body)).program.producers.at(0).ahead, 7);
  EXPECT_EQ(planned(data_model("  - for: i in 100\n    prefetch: 1\n    do:\n" + body), 3).program.producers.at(0).ahead, 3);
  const Graph wrong = parse_model(data_model("  - for: i in 100\n    prefetch: -1\n    do:\n" + body), "m.yaml");
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(to_text(wrong.diagnostics), HasSubstr("`prefetch` is -1; it is a number of trips from 0 to 1024"));
}

TEST(Producers, TakeAsLongAsTheSlowerOfDataAndStep) {
  for (const int workers : {1, 2, 3, 5, 8}) {
    for (const double data : {1e-3, 4e-3, 9.7e-3}) {
      for (const double step : {1e-3, 2.5e-3}) {
        const Plan plan = planned(data_model("  - for: i in 1000\n    do:\n      - x: step(x, decode(i))\n", data, step), workers);
        const double expected = 1000 * std::max(data / workers, step);
        EXPECT_NEAR(plan.predicted_seconds, expected, 0.02 * expected) << workers << " " << data << " " << step;
        ASSERT_EQ(plan.data.size(), 1U);
        EXPECT_NEAR(plan.data[0].seconds, data, 0.01 * data);
        EXPECT_NEAR(plan.data[0].step_seconds, step, 0.01 * step);
      }
    }
  }
}

TEST(Producers, AreSlowIfAndOnlyIfTheLoopWaits) {
  for (const int workers : {1, 2, 3}) {
    for (const double ratio : {0.5, 0.9, 1.02, 1.08, 1.5, 4.0}) {
      const double step = 4e-3, data = ratio * step * workers;
      const Plan plan = planned(data_model("  - for: i in 1000\n    do:\n      - x: step(x, decode(i))\n", data, step), workers);
      const auto slow = std::count_if(plan.diagnostics.begin(), plan.diagnostics.end(),
                                      [](const Diagnostic& each) { return each.kind == DiagnosticKind::slow_producer; });
      EXPECT_EQ(slow, ratio > 1.05 ? 1 : 0) << ratio << " on " << workers;
      for (const Diagnostic& each : plan.diagnostics) {
        if (each.kind != DiagnosticKind::slow_producer) continue;
        EXPECT_EQ(each.location.line, 10);
        const auto enough = static_cast<int>(std::ceil(data / (1.05 * step)));
        EXPECT_THAT(each.message, HasSubstr("; " + std::to_string(enough) + " workers would hide it (tried)"))
            << ratio << " on " << workers;
        const Plan with = planned(data_model("  - for: i in 1000\n    do:\n      - x: step(x, decode(i))\n", data, step), enough);
        EXPECT_LT(with.predicted_seconds, 1.06 * step * 1000);
      }
      EXPECT_THAT(explain_text(plan), HasSubstr(" a batch on " + std::to_string(workers) + (workers == 1 ? " worker" : " workers")));
    }
  }
}

TEST(Producers, MayBeAllowedToBeSlow) {
  const Plan plan = planned(
      data_model("  - for: i in 1000\n    allow: {slow-producer: the disk is old}\n    do:\n      - x: step(x, decode(i))\n", 9e-3, 1e-3));
  for (const Diagnostic& each : plan.diagnostics)
    EXPECT_TRUE(each.kind != DiagnosticKind::slow_producer || each.severity == Severity::allowed);
}

}  // namespace
}  // namespace cleave::testing
