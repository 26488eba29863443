// Plans for accelerators with little memory: programs that fit by liveness stay on the accelerator, others are moved to the host or
// refused. The planner's decision must agree with the executor's own memory layout.
#include "partitioner/apply/memory_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "executor/api/back_ends.h"
#include "executor/api/executable.h"
#include "executor/api/wiring.h"
#include "executor/memory/plan_memory.h"
#include "models/model.h"
#include "partitioner/report/explain.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

Plan plan_within(const Graph& graph, double memory_bytes, Policy policy = Policy::optimal, double host_overhead_seconds = 0) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.machine.accelerators[0].memory_bytes = memory_bytes;
  options.costs.machine.host.overhead_seconds += host_overhead_seconds;
  options.costs.policy = policy;
  options.find_peak = memory_peak;
  options.passes.disabled.insert("compute-again");  // which save_memory_test.cpp is about
  return plan(graph, options);
}

std::size_t moved_for_memory(const Plan& plan) {
  return static_cast<std::size_t>(std::count(plan.costed.forced.begin(), plan.costed.forced.end(), Cause::memory));
}

/// Products of 1 MiB matrices: `kept` of them, all needed at the end, each by `length` products.
std::string products(int kept, int length) {
  std::string text = "cleave: 1\nmodel: products\nparameters:\n  a: {type: \"f32[512, 512]\", normal: [0, 0.04], seed: 1}\nprogram:\n";
  for (int k = 0; k < kept; ++k) {
    const std::string x = "x" + std::to_string(k);
    text += "  - " + x + ": a * " + std::to_string(k + 1) + "\n";
    for (int i = 0; i < length; ++i) text += "  - " + x + ": matmul(" + x + ", a)\n";
  }
  text += "  - y: x0\n";
  for (int k = 1; k < kept; ++k) text += "  - y: matmul(y, x" + std::to_string(k) + ")\n";
  return text + "outputs: [y]\n";
}

TEST(MemoryFit, WhatFitsByLivenessStays) {
  const Graph graph = parse_model(products(1, 30), "m.yaml");
  const Plan all = plan_within(graph, 0), little = plan_within(graph, 4 << 20);
  ASSERT_TRUE(all.complete() && little.complete());
  EXPECT_GT(peak_without_sharing(all.program, kAccelerator).bytes, 4 << 20);
  EXPECT_EQ(little.placement.on_accelerator, all.placement.on_accelerator);
  EXPECT_EQ(little.placement.gap, 0);
  EXPECT_EQ(moved_for_memory(little), 0u);
}

TEST(MemoryFit, AMemoryThatHoldsNothingLeavesAllToTheHost) {
  const Plan plan = plan_within(parse_model(products(2, 3), "m.yaml"), 300);
  ASSERT_TRUE(plan.ok() && plan.complete());
  EXPECT_EQ(memory_peak(plan.program, kAccelerator).bytes, 0);
  EXPECT_EQ(plan.placement.objective_seconds, plan.all_host_seconds);
}

TEST(MemoryFit, WhatDoesNotFitMovesAndSaysSo) {
  const Graph graph = parse_model(products(12, 3), "m.yaml");
  const Plan all = plan_within(graph, 0);
  const double peak = memory_peak(all.program, kAccelerator).bytes, memory = 8 << 20;
  ASSERT_GT(peak, memory);
  for (const Policy policy : {Policy::optimal, Policy::fastest}) {
    const Plan little = plan_within(graph, memory, policy);
    ASSERT_TRUE(little.ok() && little.complete());
    EXPECT_LE(memory_peak(little.program, kAccelerator).bytes, memory);
    EXPECT_EQ(verify(little.costed.problem, little.placement), std::vector<std::string>{});
    EXPECT_GT(moved_for_memory(little), 0u);
    EXPECT_GT(std::count(little.placement.on_accelerator.begin(), little.placement.on_accelerator.end(), 1), 2);
    EXPECT_GE(little.placement.objective_seconds, all.placement.objective_seconds);
    EXPECT_EQ(little.placement.bound_seconds, all.placement.bound_seconds) << "of any placement, as nobody asked for a capacity";
    EXPECT_NEAR(little.placement.gap, 1 - all.placement.bound_seconds / little.placement.objective_seconds, 1e-9);
    EXPECT_GT(little.costed.problem.accelerator_memory_bytes, 0);
    EXPECT_NE(explain_text(little).find("; no placement, whether it fits into the memory or not, is below "), std::string::npos);
    EXPECT_NE(explain_json(little).find("\"capacity_bytes\": " +
                                        std::to_string(static_cast<std::int64_t>(little.costed.problem.accelerator_memory_bytes))),
              std::string::npos);
    EXPECT_NE(explain_json(little).find("\"cause\": \"memory\""), std::string::npos);
    EXPECT_EQ(explain_json(little), explain_json(plan_within(graph, memory, policy)));
  }
}

/// A recurrence that stacks its values, and another one that reads the stack backwards: 31 MiB of it.
std::string stacked(bool on_the_host) {
  const std::string place = on_the_host ? "\n        place: host" : "";
  return "cleave: 1\nmodel: stacked\nparameters:\n  w: {type: \"f32[128, 128]\", normal: [0, 0.08], seed: 1}\n"
         "  h: {type: \"f32[64, 128]\", normal: [0, 1], seed: 2}\nprogram:\n  - stack: zeros([1000, 64, 128])\n"
         "  - for: i in 1000\n    do:\n      - h: tanh(matmul(h, w))\n      - stack: dynamic_update_slice(stack, h, [i, 0, 0])" +
         place +
         "\n  - g: ones([64, 128])\n  - gw: zeros([128, 128])\n  - for: j in 1000\n    do:\n      - k: 1000 - 1 - j\n"
         "      - r: stack[k]" +
         place +
         "\n      - g: g * (1 - r * r)\n      - gw: gw + matmul(transpose(r), g)\n      - g: matmul(g, transpose(w))\n"
         "outputs: [gw]\n";
}

TEST(MemoryFit, MoreMemoryIsNeverDearer) {
  const Graph graph = parse_model(stacked(false), "m.yaml");
  const Plan by_hand = plan_within(parse_model(stacked(true), "m.yaml"), 1 << 20);
  ASSERT_TRUE(by_hand.complete());
  double before = std::numeric_limits<double>::infinity();
  for (const double mebibytes : {1, 2, 4, 8, 16, 24, 31, 64}) {
    SCOPED_TRACE(std::to_string(mebibytes) + " MiB");
    const Plan plan = plan_within(graph, mebibytes * (1 << 20));
    ASSERT_TRUE(plan.complete());
    EXPECT_LE(memory_peak(plan.program, kAccelerator).bytes, mebibytes * (1 << 20));
    EXPECT_LE(plan.placement.objective_seconds, before * (1 + 1e-9));
    before = plan.placement.objective_seconds;
    EXPECT_LE(plan.placement.objective_seconds, by_hand.placement.objective_seconds * (1 + 1e-9));
  }
}

TEST(MemoryFit, MoreMemoryIsNeverDearerForProducts) {
  const Graph graph = parse_model(products(12, 3), "m.yaml");
  double before = std::numeric_limits<double>::infinity();
  for (const double mebibytes : {3, 4, 5, 6, 8, 10, 12, 16}) {
    SCOPED_TRACE(std::to_string(mebibytes) + " MiB");
    const Plan plan = plan_within(graph, mebibytes * (1 << 20));
    ASSERT_TRUE(plan.complete());
    EXPECT_LE(plan.placement.objective_seconds, before * (1 + 1e-9));
    before = plan.placement.objective_seconds;
  }
}

TEST(MemoryFit, ArgumentsAreReceivedAsFarAheadAsFits) {
  // Eight layers with weights of 256 KiB each: received all at once, one layer ahead, or each when it is needed and its buffer is free.
  std::string text = "cleave: 1\nmodel: layers\nparameters:\n  x: {type: \"f32[256, 256]\", value: 1}\n", program;
  for (int i = 0; i < 8; ++i) {
    const std::string w = "w" + std::to_string(i);
    text += "  " + w + ": {type: \"f32[256, 256]\", normal: [0, 0.04], seed: " + std::to_string(i) + "}\n";
    for (int k = 0; k < 3; ++k) program += "  - x: matmul(x, " + w + ")\n";
  }
  const Graph graph = parse_model(text + "program:\n" + program + "outputs: [x]\n", "m.yaml");
  std::vector<double> seconds;
  for (const int matrices : {64, 4, 3}) {
    const double memory = matrices * 262144.0;
    const Plan plan = plan_within(graph, memory, Policy::accelerator);
    ASSERT_TRUE(plan.ok() && plan.complete());
    EXPECT_EQ(moved_for_memory(plan), 0u) << matrices;
    EXPECT_LE(memory_peak(plan.program, kAccelerator).bytes, memory);
    EXPECT_EQ(verify(plan.program), std::vector<std::string>{});
    const auto executor = make_executor(plan, *choose_device("simulated"));
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    const Result<RunResult> result = (*executor)->run({});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ((*executor)->measured_peak(kAccelerator), (*executor)->planned_peak(kAccelerator));
    seconds.push_back(result->simulated_seconds);
  }
  EXPECT_LT(seconds[0], 0.7 * seconds[2]);
  EXPECT_LT(seconds[1], 0.9 * seconds[2]);
}

TEST(MemoryFit, ARoundTripForWantOfMemoryIsAWarning) {
  std::string text =
      "cleave: 1\nmodel: wide\nparameters:\n  a: {type: \"f32[512, 512]\", normal: [0, 0.04], seed: 1}\n"
      "  b: {type: \"f32[64, 1, 1]\", value: 1}\nprogram:\n  - x: a\n";
  for (int i = 0; i < 40; ++i) text += i == 20 ? "  - x: sum(x + b, axis=0)\n" : "  - x: matmul(x, a)\n";
  const Graph graph = parse_model(text + "outputs: [x]\n", "m.yaml");
  const Plan all = plan_within(graph, 0), little = plan_within(graph, 16 << 20);
  ASSERT_TRUE(all.complete() && little.complete()) << (graph.ok() ? "" : graph.diagnostics.begin()->message);
  EXPECT_EQ(all.round_trips.size(), 0u);
  ASSERT_EQ(little.round_trips.size(), 1u);
  EXPECT_EQ(little.round_trips[0].cause, Cause::memory);
  EXPECT_TRUE(little.round_trips[0].warned());
  ASSERT_FALSE(little.diagnostics.empty());
  EXPECT_EQ(little.diagnostics.begin()->kind, DiagnosticKind::round_trip);
  EXPECT_EQ(little.diagnostics.begin()->severity, Severity::warning);
}

TEST(MemoryFit, NothingFitsWhereTooMuchIsPinned) {
  std::string program = products(1, 2);
  program.replace(program.find("outputs"), 0, "  - y: matmul(y, a)\n    place: accelerator\n");
  const Plan plan = plan_within(parse_model(program, "m.yaml"), 2 << 20);
  ASSERT_FALSE(plan.ok());
  EXPECT_FALSE(plan.complete());
  const Diagnostic& diagnostic = *plan.diagnostics.begin();
  EXPECT_EQ(diagnostic.kind, DiagnosticKind::placement);
  EXPECT_NE(diagnostic.message.find(
                "no plan was found that fits into the 2.0 MiB of accelerator:0; one that was tried takes 3.0 MiB, and at its peak holds `"),
            std::string::npos)
      << diagnostic.message;
  EXPECT_NE(diagnostic.message.find("f32[512, 512], 1.0 MiB"), std::string::npos) << diagnostic.message;
  EXPECT_TRUE(diagnostic.location.known());
  const Plan less = plan_within(parse_model(program, "m.yaml"), 512 << 10);
  ASSERT_FALSE(less.ok());
  EXPECT_NE(less.diagnostics.begin()->message.find(" (f32[512, 512]) alone takes 1.0 MiB"), std::string::npos)
      << less.diagnostics.begin()->message;
}

TEST(MemoryFit, RandomProgramsFitOrAreRefused) {
  int engaged = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = testing::random_graph(seed);
    const Policy policy = seed % 3 == 0 ? Policy::optimal : seed % 3 == 1 ? Policy::fastest : Policy::accelerator;
    const Plan all = plan_within(graph, 0, policy, 1);
    if (!all.complete()) continue;
    const double peak = memory_peak(all.program, kAccelerator).bytes;
    if (peak < 256) continue;
    const Plan little = plan_within(graph, 0.7 * peak, policy, 1);
    if (!little.complete()) {
      EXPECT_FALSE(little.ok());
      continue;
    }
    EXPECT_LE(memory_peak(little.program, kAccelerator).bytes, 0.7 * peak);
    EXPECT_EQ(verify(little.program), std::vector<std::string>{});
    ++engaged;
  }
  EXPECT_GT(engaged, 3);
}

TEST(MemoryFit, AMachineFileWithLittleMemoryRuns) {
  std::ifstream file(source_dir() + "/partitioner/machine/machines/simulated.yaml");
  std::stringstream text;
  text << file.rdbuf();
  std::string machine = text.str();
  const std::size_t at = machine.rfind("memory_bytes:");
  ASSERT_NE(at, std::string::npos);
  machine.replace(at, machine.find_first_of(",\n}", at) - at, "memory_bytes: 8MiB");
  const test::TemporaryFolder folder;
  const std::string path = folder.write("little.yaml", machine);
  const Graph graph = parse_model(products(12, 3), "m.yaml");
  const Result<Executable> little = compile(graph, {.device = "simulated", .machine = path});
  ASSERT_TRUE(little.ok()) << little.error().message;
  EXPECT_TRUE(little->plan().saved) << "`x0` to `x11` are computed again right before they are read";
}

}  // namespace
}  // namespace cleave::testing
