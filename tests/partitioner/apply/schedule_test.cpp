// The predicted elapsed time against times worked out by hand, and against its bounds on random programs.
#include "partitioner/apply/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "partitioner/apply/schedule_trace.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/round_machine.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

Plan plan_on_round_machine(const std::string& program, const std::string& rest = "outputs: [w]\n") {
  const std::string type = "\"f32[256, 256]\"";
  const std::string text = "cleave: 1\nmodel: m\nhost_functions:\n  f: {library: ./l.so, symbol: s, takes: [" + type +
                           "], returns: " + type + ", pure: true}\nparameters:\n  w: {type: " + type + ", value: 1}\n  v: {type: " + type +
                           ", value: 1}\nprogram:\n" + program + rest;
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::accelerator;
  const Plan result = plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(result.complete());
  return result;
}

TEST(Schedule, AChainAddsUp) {
  // argument 2, two products 2, result 2
  EXPECT_NEAR(plan_on_round_machine("  - w: matmul(matmul(w, w), w)\n").predicted_seconds, 6, 1e-9);
}

TEST(Schedule, ArgumentsAreCopiedWhileOthersAreWorkedOn) {
  // arguments of 2 each come at 2, 4, 6 and 8; the products by them end at 5, 7 and 9; result 2
  std::string text = "cleave: 1\nmodel: m\nparameters:\n";
  for (const char* name : {"d", "c", "b", "a"}) text += std::string("  ") + name + ": {type: \"f32[256, 256]\", value: 1}\n";
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::accelerator;
  const Plan result = plan(parse_model(text + "program:\n  - y: matmul(matmul(matmul(a, b), c), d)\noutputs: [y]\n", "m.yaml"), options);
  EXPECT_NEAR(result.predicted_seconds, 11, 1e-9) << "they are sent in the order in which they are needed, not declared";
}

/// For each transfer of `name` in a run, the seconds waited for it and its hidden seconds.
std::vector<std::pair<double, double>> times_of(const Plan& plan, const std::string& name) {
  std::vector<std::pair<double, double>> found;
  for (std::size_t i = 0; i < plan.transfers.items.size(); ++i) {
    const Value& value = plan.graph->values[plan.transfers.items[i].value];
    const std::string called = value.name.empty() ? plan.graph->display_name(value.producer) : value.name;
    const TransferTime& time = plan.transfer_times[i];
    if (called == name) found.emplace_back(std::round(1e6 * time.waited_seconds) / 1e6, std::round(1e6 * time.hidden_seconds) / 1e6);
  }
  return found;
}
using Times = std::vector<std::pair<double, double>>;

TEST(Schedule, SaysWhichTransfersAreWaitedForAndWhichHidden) {
  std::string text = "cleave: 1\nmodel: m\nparameters:\n";
  for (const char* name : {"d", "c", "b", "a"}) text += std::string("  ") + name + ": {type: \"f32[256, 256]\", value: 1}\n";
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::accelerator;
  const Plan plan =
      planner::plan(parse_model(text + "program:\n  - y: matmul(matmul(matmul(a, b), c), d)\noutputs: [y]\n", "m.yaml"), options);
  EXPECT_EQ(times_of(plan, "a"), (Times{{4, 0}})) << "the copy of `b` before it, and its own";
  EXPECT_EQ(times_of(plan, "b"), (Times{{2, 0}}));
  EXPECT_EQ(times_of(plan, "c"), (Times{{1, 1}})) << "comes at 6, wanted at 5";
  EXPECT_EQ(times_of(plan, "d"), (Times{{1, 1}})) << "comes at 8, wanted at 7";
  EXPECT_EQ(times_of(plan, "y"), (Times{{11, 0}})) << "the host has nothing else to do";

  // An iteration: product 1, transfer out 2, `f` 10, transfer back 2; meanwhile `y`, another product of 1.
  const Plan loop = plan_on_round_machine(
      "  - for: i in 100\n    do:\n      - x: matmul(w, w)\n      - r: f(x)\n      - y: matmul(x, x)\n      - w: r + y\n");
  EXPECT_EQ(times_of(loop, "x"), (Times{{100 * 6, 0}})) << "16 less the 10 of `f`";
  EXPECT_EQ(times_of(loop, "r"), (Times{{100 * 13, 0}})) << "2 out, 10, 2 back, less the 1 of `y`";

  // `x` is in flight while the host computes `f(v)` from values that it has.
  const Plan hidden = plan_on_round_machine(
      "  - for: i in 100\n    do:\n      - x: matmul(w, w)\n      - s: f(v)\n      - print(\"x\", x)\n      - v: f(s)\n      - w: x + x\n",
      "outputs: [w, v]\n");
  ASSERT_EQ(times_of(hidden, "x").size(), 1U);
  EXPECT_EQ(times_of(hidden, "x")[0], std::pair(0.0, 200.0));
}

TEST(Schedule, SmallValuesThatLeaveAtOnePointTravelAsOne) {
  std::string text = "cleave: 1\nmodel: m\nparameters:\n";
  for (const char* name : {"d", "c", "b", "a"}) text += std::string("  ") + name + ": {type: \"f32[8, 8]\", value: 1}\n";
  text += "program:\n  - y: matmul(matmul(matmul(a, b), c), d)\noutputs: [y]\n";
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::accelerator;
  const Plan plan = planner::plan(parse_model(text, "m.yaml"), options);
  EXPECT_NEAR(plan.predicted_seconds, 2 + 3 + 2, 1e-9) << "all four arguments, three products, the result";
  EXPECT_NEAR(plan.placement.objective_seconds, 4 * 2 + 3 + 2, 1e-9) << "the cut counts each by itself";
  EXPECT_EQ(times_of(plan, "a"), (Times{{2, 0}})) << "its copy bears the latency";
  EXPECT_EQ(times_of(plan, "d"), (Times{{0, 0}})) << "it comes with the others, and is wanted later";
}

Tensor on(Side side, const std::function<Tensor()>& operation) {
  const Scope scope = place(side);
  return operation();
}

TEST(Schedule, LargeValuesAreWorkedOnWhileTheyCross) {
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  DeviceRates& accelerator = options.costs.machine.accelerators[0];
  accelerator.overhead_seconds = 0;
  accelerator.efficiency.fill({});
  const auto seconds = [&](const Graph& graph) { return planner::plan(graph, options).predicted_seconds; };
  const auto working = [&](double bytes, double takes) { accelerator.bytes_per_second = bytes / takes; };
  const char* type = "f32[4096, 1024]";  // eight parts
  constexpr double kBytes = 4096 * 1024 * 4, kRows = 4096 * 4;
  // Transfer there 2, the work 1, back 2: the work ends one chunk's work after the copy.
  const auto there = [](Tensor x) { return on(Side::accelerator, [&] { return exp(x); }); };
  working(2 * kBytes, 1);
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, there)), 2 + 1.0 / 8 + 2, 1e-9);
  EXPECT_NEAR(seconds(trace("m", {{"x", "f32[512, 1024]"}}, there)), 2 + 1.0 / 8 + 2, 1e-9) << "one part, an eighth of the work";
  // The host's work of 10 begins with the first chunk that comes back, and the copy there ends one chunk after the work. The accelerator's
  // driver is not involved until the host is done.
  const auto through = [](Tensor x) {
    const Tensor a = on(Side::accelerator, [&] { return exp(x); }), b = on(Side::host, [&] { return tanh(a); });
    return on(Side::accelerator, [&] { return exp(b); });
  };
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, through)), 2 + 1.0 / 8 + 2.0 / 8 + 10 + 1 + 2, 1e-9);
  working(kBytes + kRows, 1);
  const auto summed = [](Tensor x) { return on(Side::accelerator, [&] { return sum(x, {.axis = 1}); }); };
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, summed)), 2 + 1.0 / 8 + 2, 1e-9);
  working(kBytes + 1024 * 4, 1);
  const auto columns = [](Tensor x) { return on(Side::accelerator, [&] { return sum(x, {.axis = 0}); }); };
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, columns)), 2 + 1 + 2, 1e-9) << "every result needs the last row";
  // Work that takes longer than the copy begins with the first chunk.
  working(2 * kBytes, 4);
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, there)), 2.0 / 8 + 4 + 2, 1e-9);
  // With expensive launches, there are fewer of them: two, if a launch takes half as long as the work.
  accelerator.overhead_seconds = 1;
  working(2 * kBytes, 3);
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, there)), 2.0 / 2 + 4 + 2, 1e-9);
  working(2 * kBytes, 1.9);
  EXPECT_NEAR(seconds(trace("m", {{"x", type}}, there)), 2 + 2.9 + 2, 1e-9);
}

TEST(Schedule, LoopsAreExtrapolated) {
  EXPECT_NEAR(plan_on_round_machine("  - for: i in 1000\n    do:\n      - w: matmul(w, w)\n").predicted_seconds, 1004, 1e-6);
}

TEST(Schedule, ARunItsTripsAndItsBranchesHaveCostsOfTheirOwn) {
  const std::string text =
      "cleave: 1\nmodel: m\nparameters:\n  w: {type: \"f32[256, 256]\", value: 1}\nprogram:\n  - for: i in 100\n    do:\n      - for: j in "
      "5\n"
      "        do:\n          - w: matmul(w, w)\n      - if: i > 50\n        probability: 0.5\n        then:\n          - w: matmul(w, w)\n"
      "outputs: [w]\n";
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::host;
  options.costs.workers = 0;
  const Plan without = plan(parse_model(text, "m.yaml"), options);
  options.costs.machine.host.run_seconds = 7;
  options.costs.machine.host.trip_seconds = 0.5;
  const Plan with = plan(parse_model(text, "m.yaml"), options);
  const double own = 7 + 0.5 * (100 + 100 * 5 + 100);
  EXPECT_NEAR(with.predicted_seconds, without.predicted_seconds + own, 1e-6);
  EXPECT_NEAR(with.all_host_seconds, without.all_host_seconds + own, 1e-6);
  EXPECT_NEAR(with.predicted_seconds, with.all_host_seconds, 1e-6) << "alone, one after the other";
}

ScheduleTrace trace_of(const Plan& plan) {
  ScheduleRecorder recorder;
  const Schedule recorded = predict(plan.program, plan.transfers, plan.costed, &recorder);
  EXPECT_EQ(recorded.seconds, predict(plan.program, plan.transfers, plan.costed).seconds);
  return std::move(recorder).take();
}

double busy(const ScheduledFrame& frame, Resource resource) {
  double seconds = 0;
  for (const ScheduledPiece& piece : frame.pieces) seconds += piece.resource == resource ? piece.busy_seconds : 0;
  return seconds;
}

TEST(Schedule, RecordsARunAndATripOfEachLoop) {
  const ScheduleTrace trace = trace_of(plan_on_round_machine("  - for: i in 100\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n"));
  ASSERT_EQ(trace.frames.size(), 2u);
  const ScheduledFrame &run = trace.frames[0], &trip = trace.frames[1];
  const double expected[2][4] = {{1000, 200, 202, 202}, {10, 2, 2, 2}};  // as Resource; the run also has argument and result
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(busy(run, static_cast<Resource>(i)), expected[0][i], 1e-6) << i;
    EXPECT_NEAR(busy(trip, static_cast<Resource>(i)), expected[1][i], 1e-6) << i;
  }
  EXPECT_EQ(trip.trip, 5);
  // one after the other: product, out, f, back, product
  std::vector<std::pair<double, double>> work;
  double waited = 0;
  for (const ScheduledPiece& piece : trip.pieces) {
    if (piece.what != ScheduledPiece::What::wait) work.emplace_back(piece.begin, piece.end);
    if (piece.what == ScheduledPiece::What::wait && piece.resource == Resource::accelerator) waited += piece.end - piece.begin;
  }
  std::sort(work.begin(), work.end());
  ASSERT_EQ(work.size(), 5u);
  for (std::size_t i = 1; i < work.size(); ++i) EXPECT_NEAR(work[i].first, work[i - 1].second, 1e-9);
  EXPECT_NEAR(waited, 14, 1e-9);
}

TEST(Schedule, RecordsArmsByTheirProbability) {
  const ScheduleTrace trace = trace_of(plan_on_round_machine(
      "  - for: i in 10\n    do:\n      - if: i > 5\n        probability: 0.25\n        then:\n          - w: matmul(w, w)\n"));
  ASSERT_GE(trace.frames.size(), 3u);
  const auto arm = std::find_if(trace.frames.begin(), trace.frames.end(),
                                [](const ScheduledFrame& frame) { return busy(frame, Resource::accelerator) == 1; });
  ASSERT_NE(arm, trace.frames.end());
  EXPECT_EQ(arm->arm, 0u);
  EXPECT_NEAR(busy(trace.frames[1], Resource::accelerator), 1 + 0.25, 1e-9) << "a trip: the comparison, and the arm by its probability";
  EXPECT_NEAR(busy(trace.frames[0], Resource::accelerator), 12.5, 1e-9) << "the run";
}

TEST(Schedule, RecordsOfRandomProgramsAddUp) {
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    PlanOptions options;
    options.costs.machine = *Machine::shipped("simulated");
    options.costs.policy = seed % 2 == 0 ? Policy::accelerator : Policy::optimal;
    const Plan plan = planner::plan(random_graph(seed), options);
    ASSERT_TRUE(plan.complete()) << seed;
    const ScheduleTrace trace = trace_of(plan);
    double transfers = 0;
    for (const TransferTime& time : plan.transfer_times) transfers += time.seconds;
    const double recorded = busy(trace.frames[0], Resource::to_accelerator) + busy(trace.frames[0], Resource::to_host);
    EXPECT_NEAR(recorded, transfers, 1e-6 * transfers) << seed;
    for (const ScheduledFrame& frame : trace.frames) {
      std::array<double, 4> at{};
      for (const ScheduledPiece& piece : frame.pieces) {
        const auto lane = static_cast<std::size_t>(piece.resource);
        EXPECT_GE(piece.begin, at[lane] - 1e-9) << seed << ": pieces of a resource follow each other";
        at[lane] = piece.end;
      }
    }
  }
}

TEST(Schedule, ARoundTripInALoopWaitsEveryTime) {
  // an iteration: product 1, out 2, host 10, back 2, product 1
  const Plan plan = plan_on_round_machine("  - for: i in 100\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n");
  EXPECT_NEAR(plan.predicted_seconds, 2 + 100 * 16 + 2, 1e-6);
  const Schedule schedule = predict(plan.program, plan.transfers, plan.costed);
  ASSERT_EQ(schedule.waiting.size(), 2u);
  EXPECT_NEAR(schedule.waiting[1].wait_seconds, 100 * 14, 1e-6);
  EXPECT_NEAR(schedule.waiting[1].seconds, 100 * 16, 1e-6);
  EXPECT_TRUE(schedule.waiting[1].worst.valid());
}

TEST(Schedule, IndependentWorkOverlaps) {
  const Plan plan = plan_on_round_machine(
      "  - for: i in 100\n    do:\n      - x: matmul(w, w)\n      - r: f(x)\n      - y: matmul(x, x)\n      - w: r + y\n");
  EXPECT_NEAR(plan.predicted_seconds, 2 + 100 * 16 + 2, 1e-6) << "`y` costs nothing while the host computes `f`";
}

TEST(Schedule, LiesBetweenTheBusiestResourceAndTheSum) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions straight;
    straight.control_flow = false;
    PlanOptions options;
    options.costs.machine = round_machine(10, 2);
    options.costs.policy = seed % 2 ? Policy::accelerator : Policy::optimal;
    const Plan p = plan(testing::random_graph(seed, straight), options);
    double host = 0, accelerator = 0, out = 0, back = 0;
    for (std::size_t i = 0; i < p.graph->nodes.size(); ++i) {
      if (p.placement.on_host[i]) host += p.costed.problem.nodes[i].host_seconds;
      if (p.placement.on_accelerator[i]) accelerator += p.costed.problem.nodes[i].accelerator_seconds;
    }
    for (std::size_t i = 0; i < p.transfers.items.size(); ++i)
      (p.transfers.items[i].to == kHost ? out : back) += p.transfer_times[i].seconds;
    for (std::size_t i = 0; i < p.transfers.items.size(); ++i) {
      const TransferTime& time = p.transfer_times[i];
      EXPECT_GE(time.hidden_seconds, 0);
      EXPECT_LE(time.seconds, p.transfers.items[i].seconds * (1 + 1e-9)) << "in a coalesced transfer it takes no more than by itself";
      EXPECT_LE(time.hidden_seconds, time.seconds);
      EXPECT_GE(time.waited_seconds, time.seconds - time.hidden_seconds - 1e-9);
      EXPECT_LE(time.waited_seconds, p.predicted_seconds * (1 + 1e-9));
    }
    EXPECT_GE(p.predicted_seconds * (1 + 1e-9), std::max({host, accelerator, out, back}));
    EXPECT_LE(p.predicted_seconds, p.placement.objective_seconds * (1 + 1e-9) + 1e-12);
  }
}

}  // namespace
}  // namespace cleave::testing
