// The timeline: the activity of each device over time on the virtual clock, and its form as a Chrome trace.
#include "executor/report/timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "executor/api/executable.h"
#include "executor/device/kernel.h"
#include "executor/report/profile_report.h"
#include "graph/ops/ops.h"
#include "graph/passes/pass_table.h"
#include "graph/trace/trace.h"
#include "graph/trace/tracer.h"
#include "models/model.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

RunResult run_timed(const std::shared_ptr<const Graph>& graph, Where where, std::uint64_t seed) {
  RunOptions options;
  options.inputs = random_inputs(*graph, seed);
  options.print = [](std::string_view) {};
  options.timeline = true;
  options.observe = true;
  const Result<RunResult> result = executor_for(plan_for(graph, where, seed))->run(options);
  return result ? *result : RunResult{};
}

TEST(Timeline, OneDeviceDoesOneThingAtATimeAndTheRunEndsWithTheLastEvent) {
  std::size_t events = 0, transfers = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(random_graph(seed));
    const RunResult result = run_timed(graph, Where::random, seed);
    std::map<std::pair<DeviceId, int>, double> busy_until;
    double end = 0;
    for (const TimelineEvent& event : result.timeline.events) {
      EXPECT_LE(event.start_seconds, event.end_seconds);
      end = std::max(end, event.end_seconds);
      ++events;
      transfers += event.what == TimelineEvent::What::transfer ? 1 : 0;
      if (event.what != TimelineEvent::What::compute) continue;
      double& busy = busy_until[{event.device, 0}];
      EXPECT_GE(event.start_seconds, busy);
      busy = event.end_seconds;
    }
    EXPECT_DOUBLE_EQ(end, result.simulated_seconds);
  }
  EXPECT_GT(events, 1000U);
  EXPECT_GT(transfers, 100U);
}

TEST(Timeline, OfTheModelsTakesAsLongAsPredicted) {
  for (const char* name : {"mlp_inference", "linear_regression", "naive_transfer", "naive_transfer_after", "resident_embedding",
                           "resident_embedding_before"}) {
    PlanOptions options;
    options.costs = simulated_costs();
    options.costs.machine.host.run_seconds = 5e-6;
    options.costs.machine.host.trip_seconds = 1e-6;
    const Plan planned = plan(read_model(source_dir() + "/models/" + name + ".yaml"), options);
    ASSERT_TRUE(planned.ok()) << name;
    const auto executor = executor_for(as_planned(planned));
    RunOptions run;
    run.print = [](std::string_view) {};
    const Result<RunResult> result = executor->run(run);
    ASSERT_TRUE(result.ok()) << name << ": " << result.error().message;
    // The first iteration of its loop waits for a transfer that the prediction overlaps with work before the loop.
    const double part = name == std::string_view("resident_embedding_before") ? 4e-3 : 1e-3;
    EXPECT_NEAR(result->simulated_seconds, planned.predicted_seconds, part * planned.predicted_seconds) << name;
  }
}

/// The virtual time of a program minus its prediction; nothing if it cannot be planned or fails.
std::optional<double> overtime(std::uint64_t seed, const RandomGraphOptions& random, Policy policy, const Profile& profile = {}) {
  PlanOptions options;
  options.costs = simulated_costs();
  options.costs.policy = policy;
  options.costs.profile = profile;
  options.costs.host_fuses = host_fuses;
  const Plan planned = plan(random_graph(seed, random), options);
  if (!planned.complete() || planned.predicted_seconds == 0) return std::nullopt;
  RunOptions run;
  run.inputs = random_inputs(*planned.graph, seed);
  run.print = [](std::string_view) {};
  const Result<RunResult> result = executor_for(as_planned(planned))->run(run);
  if (!result) return std::nullopt;
  return result->simulated_seconds / planned.predicted_seconds;
}

// Not modeled by the prediction: reused memory makes a copy wait for a computation or the reverse, if memory is too short for slack
// (executor/memory/liveness.h) or more steps lie in between.
TEST(Timeline, OfStraightProgramsTakesAsLongAsPredicted) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    RandomGraphOptions straight;
    straight.control_flow = false;
    const std::optional<double> ratio = overtime(seed, straight, seed % 2 ? Policy::accelerator : Policy::optimal);
    if (!ratio) continue;
    EXPECT_NEAR(*ratio, 1, 0.02) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, draws(100));
}

// Loops and branches with observed trip counts and outcomes. If these differ between executions, their mean is used for the prediction.
TEST(Timeline, OfProgramsWithKnownTripsTakesAboutAsLongAsPredicted) {
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    const Graph graph = run_passes(random_graph(seed), {});  // a profile belongs to the program after the passes
    RunOptions once;
    once.inputs = random_inputs(graph, seed);
    once.print = [](std::string_view) {};
    once.observe = true;
    const Result<RunResult> seen = run_reference(graph, once);
    if (!seen) continue;
    Profile trips;
    trips.expected = seen->observed.expected;
    if (const auto ratio = overtime(seed, {}, seed % 2 ? Policy::accelerator : Policy::optimal, trips)) ratios.push_back(*ratio);
  }
  ASSERT_GT(ratios.size(), draws(100U));
  const auto within = [&](double low, double high) {
    return static_cast<double>(std::count_if(ratios.begin(), ratios.end(), [&](double ratio) { return low <= ratio && ratio <= high; }));
  };
  EXPECT_GE(within(0.98, 1.02), 0.9 * static_cast<double>(ratios.size()));
  EXPECT_EQ(within(0.8, 1.35), static_cast<double>(ratios.size()));
}

TEST(Timeline, IsWrittenAsAChromeTrace) {
  const auto graph = std::make_shared<const Graph>(random_graph(3));
  const RunResult result = run_timed(graph, Where::accelerator, 3);
  ASSERT_FALSE(result.timeline.events.empty());
  test::TemporaryFolder folder;
  ASSERT_TRUE(write_chrome_trace(result.timeline, *graph, folder.path("trace.json")).ok());
  const auto trace = nlohmann::json::parse(folder.read("trace.json"));
  std::size_t complete = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_FALSE(event.at("name").get<std::string>().empty());
    ++complete;
  }
  EXPECT_EQ(complete, result.timeline.events.size());
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_FALSE(write_chrome_trace(result.timeline, *graph, folder.path("no/such/folder/trace.json")).ok());
}

TEST(Timeline, IsToldWhileItHappens) {
  const auto graph = std::make_shared<const Graph>(random_graph(3));
  RunOptions options;
  options.inputs = random_inputs(*graph, 3);
  options.print = [](std::string_view) {};
  options.timeline = true;
  std::mutex mutex;
  std::vector<TimelineEvent> told;
  options.on_timeline = [&](std::span<const TimelineEvent> events) {
    const std::lock_guard lock(mutex);
    told.insert(told.end(), events.begin(), events.end());
  };
  const Result<RunResult> result = executor_for(plan_for(graph, Where::accelerator, 3))->run(options);
  ASSERT_TRUE(result) << result.error().message;
  const auto all = [](std::vector<TimelineEvent> events) {
    std::vector<std::string> lines;
    for (const TimelineEvent& e : events)
      lines.push_back(std::to_string(static_cast<int>(e.what)) + " " + std::to_string(e.device.index) + " " + std::to_string(e.node.index) +
                      " " + std::to_string(e.start_seconds) + " " + std::to_string(e.end_seconds) + " " + std::to_string(e.bytes));
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(all(told), all(result->timeline.events));
  // The file has only the last run, and nothing at all of an unfinished one.
  const test::TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    Result<ChromeTrace> trace = ChromeTrace::create(folder.path("trace.json"), *graph);
    ASSERT_TRUE(trace);
    trace->add(told);
    ASSERT_TRUE(trace->finish(true));
  }
  const std::string whole = folder.read("trace.json");
  Result<ChromeTrace> unfinished = ChromeTrace::create(folder.path("trace.json"), *graph);
  unfinished->add(told);
  unfinished = Error{"given up"};
  EXPECT_EQ(folder.read("trace.json"), whole);
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(ChromeTrace::create("/dev/full", *graph)->finish(true).error().message, "cannot write `/dev/full`: No space left on device");
}

TEST(ProfileReport, OnTheVirtualClockEqualsThePrediction) {
  PlanOptions options;
  options.costs = simulated_costs();
  options.costs.policy = Policy::accelerator;
  const Plan planned = plan(read_model(source_dir() + "/models/naive_transfer.yaml"), options);
  ASSERT_TRUE(planned.ok());
  RunOptions run;
  run.timeline = true;
  const auto executor = executor_for(as_planned(planned));
  const Result<RunResult> result = executor->run(run);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const ProfileReport measured = profile_report(result->timeline, planned.program, planned.costed, planned.transfers);
  int computed = 0, moved = 0;
  for (const ProfileReportRow& row : measured.rows) {
    if (!row.node.valid() || row.predicted_seconds == 0) continue;
    EXPECT_NEAR(row.seconds, row.predicted_seconds, 1e-9 + 1e-6 * row.predicted_seconds) << planned.graph->display_name(row.node);
    (row.what == TimelineEvent::What::compute ? computed : moved) += 1;
  }
  EXPECT_GT(computed, 3);
  EXPECT_GT(moved, 1);
  EXPECT_GT(measured.transfer_seconds, 0);
  EXPECT_LE(measured.hidden_seconds, measured.transfer_seconds);
}

TEST(ProfileReport, GivesEachValueOfACoalescedTransferItsPart) {
  const Graph graph =
      trace("sum", {{"x", "f32[64]"}, {"y", "f32[64]"}, {"z", "f32[64]"}}, [](Tensor x, Tensor y, Tensor z) { return x * y + z; });
  PlanOptions options;
  options.costs = simulated_costs();
  options.costs.policy = Policy::accelerator;
  const Plan planned = plan(graph, options);
  ASSERT_EQ(planned.program.coalesced_transfers.size(), 1U);
  RunOptions run;
  run.timeline = true;
  run.inputs = random_inputs(*planned.graph, 1);
  const Result<RunResult> result = executor_for(as_planned(planned))->run(run);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->host_to_accelerator.count, 3);
  EXPECT_EQ(result->host_to_accelerator.bytes, 3 * 256);
  EXPECT_NEAR(result->simulated_seconds, planned.predicted_seconds, 1e-12);
  const ProfileReport measured = profile_report(result->timeline, planned.program, planned.costed, planned.transfers);
  std::vector<double> moved;
  for (const ProfileReportRow& row : measured.rows) {
    if (row.what != TimelineEvent::What::transfer || row.node.index > 2) continue;
    EXPECT_NEAR(row.seconds, row.predicted_seconds, 1e-12);
    moved.push_back(row.seconds);
  }
  ASSERT_EQ(moved.size(), 3U);
  std::sort(moved.begin(), moved.end());
  const LinkDirection& link = planned.machine.link(kHost, kAccelerator);
  EXPECT_NEAR(moved[0], 256 / link.bytes_per_second, 1e-12);
  EXPECT_NEAR(moved[2], link.latency_seconds + 256 / link.bytes_per_second, 1e-12) << "one bears the latency";
}

TEST(ProfileReport, ObservedTimesHoldForTheVirtualClockToo) {
  const Graph graph = trace("observed", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    return for_loop(20, x, [](Tensor, Tensor state) { return matmul(state, state) + sort(state, {.axis = 0}); });
  });
  for (const double seconds : {1e-6, 5e-2}) {
    CompileOptions options{.device = "simulated", .placement = Policy::accelerator};
    for (const Node& node : graph.nodes)
      if (node.op && node.op->name == "sort") options.profile.host_seconds[to_string(node.location)] = seconds;
    ASSERT_EQ(options.profile.host_seconds.size(), 1U);
    const Result<Executable> executable = compile(graph, options);
    ASSERT_TRUE(executable.ok()) << executable.error().message;
    const Result<RunResult> result = executable->run({{"x", Array(TensorType{DType::f32, {64, 64}})}});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_NEAR(result->simulated_seconds, executable->plan().predicted_seconds, 0.02 * executable->plan().predicted_seconds);
    EXPECT_GT(result->simulated_seconds, 20 * seconds);
  }
}

TEST(ProfileReport, WhatRanAsOneIsOneRowAndSharesItsTime) {
  const Graph graph = trace("chain", {{"x", "f32[256, 256]"}}, [](Tensor x) {
    return for_loop(5, x, [](Tensor, Tensor state) {
      const Tensor a = exp(state);
      const Tensor b = a * 0.25F;
      return tanh(b);
    });
  });
  CompileOptions options{.device = "simulated", .placement = Policy::host};
  RunOptions run;
  run.inputs = {{"x", Array(TensorType{DType::f32, {256, 256}})}};
  run.observe = run.timeline = true;
  const auto ledger_of = [&](const Executable& program, const RunResult& result) {
    ProfileReport report = profile_report(result.timeline, program.plan().program, program.plan().costed, program.plan().transfers);
    std::erase_if(report.rows, [](const ProfileReportRow& row) { return row.members.empty(); });
    return report;
  };
  const Result<Executable> modelled = compile(graph, options);
  ASSERT_TRUE(modelled.ok()) << modelled.error().message;
  const Result<RunResult> first = modelled->run(run);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const ProfileReport before = ledger_of(*modelled, *first);
  ASSERT_EQ(before.rows.size(), 1U);
  EXPECT_EQ(before.rows[0].members.size(), 3U);
  EXPECT_EQ(before.rows[0].executions, 5);
  EXPECT_NEAR(before.rows[0].predicted_seconds, before.rows[0].seconds, 1e-9) << "less what fusion saves, on either clock";

  ASSERT_EQ(first->observed.host_seconds.size(), 3U) << "each operation has its part";
  double once = 0;
  for (const auto& [position, seconds] : first->observed.host_seconds) once += seconds;
  options.profile = first->observed;
  const Result<Executable> observed = compile(graph, options);
  ASSERT_TRUE(observed.ok()) << observed.error().message;
  const Result<RunResult> second = observed->run(run);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_NEAR(observed->plan().predicted_seconds, 5 * once, 0.01 * 5 * once) << "counted once, not with the last one and again with each";
  EXPECT_NEAR(second->simulated_seconds, observed->plan().predicted_seconds, 0.01 * 5 * once);
  const ProfileReport after = ledger_of(*observed, *second);
  ASSERT_EQ(after.rows.size(), 1U);
  EXPECT_NEAR(after.rows[0].predicted_seconds, 5 * once, 0.01 * 5 * once);
  ASSERT_EQ(after.by_op.size(), 1U);
  EXPECT_EQ(after.by_op[0].first, "exp + multiply + tanh");
  EXPECT_THAT(to_text(after, graph), ::testing::HasSubstr("`exp`, `multiply` and `tanh` as one on the host"));
}

TEST(ProfileReport, CountsWhatIsHiddenBehindWorkOnce) {
  using What = TimelineEvent::What;
  const NodeId node(0);
  Timeline timeline;
  timeline.events = {
      {What::transfer, kAccelerator, node, 0, 4}, {What::transfer, kAccelerator, node, 3, 6},  // 6 s with a transfer in flight
      {What::compute, kAccelerator, node, 1, 2},  {What::compute, kHost, node, 1.5, 3},        // 2 s of work during these
      {What::wait, kAccelerator, node, 4, 6},     {What::compute, kHost, node, 5, 9}};         // and one more second
  Tracer tracer("empty");
  tracer.output("y", tracer.input("x", {DType::f32, {}}, {}, {}), {});
  Program program;
  program.graph = std::make_shared<const Graph>(tracer.finish());
  const Graph& graph = *program.graph;
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(graph, simulated_costs(), diagnostics);
  const ProfileReport measured = profile_report(timeline, program, costed, {});
  EXPECT_DOUBLE_EQ(measured.transfer_seconds, 6);
  EXPECT_DOUBLE_EQ(measured.hidden_seconds, 3);
  ASSERT_EQ(measured.rows.size(), 4U);
  EXPECT_EQ(measured.rows[0].device, kHost);
  EXPECT_EQ(measured.rows[0].executions, 2);
  EXPECT_DOUBLE_EQ(measured.rows[0].seconds, 5.5);
  EXPECT_EQ(measured.rows[2].what, What::transfer);
  EXPECT_THAT(to_text(measured, graph), ::testing::HasSubstr("transfers took 6.0 s, 50 % of it hidden behind work"));
  EXPECT_THAT(to_text(measured, graph, 1), ::testing::HasSubstr("and 3 more: predicted -, took 8.5 s in sum"));
}

TEST(Timeline, ObservesTripsAsTheReferenceDoes) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(random_graph(seed));
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    options.print = [](std::string_view) {};
    options.observe = true;
    const Result<RunResult> expected = run_reference(*graph, options);
    if (!expected) continue;
    for (const auto& [position, trips] : run_timed(graph, Where::random, seed).observed.expected) {
      EXPECT_EQ(trips, expected->observed.expected.at(position)) << position;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace cleave::testing
