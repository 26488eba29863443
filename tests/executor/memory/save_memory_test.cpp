// Training on accelerators with too little memory: values are computed again, results keep their bits, the plan fits, and less memory never
// costs less.
#include "partitioner/apply/save_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "executor/api/back_ends.h"
#include "executor/api/wiring.h"
#include "executor/memory/plan_memory.h"
#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/report/explain.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Plan plan_saving(const Graph& graph, double memory_bytes, bool keeps_all = false, Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.machine.accelerators[0].memory_bytes = memory_bytes;
  options.costs.policy = policy;
  options.find_peak = memory_peak;
  if (keeps_all) options.passes.disabled.insert("compute-again");
  return plan(graph, options);
}

double peak_of(const Plan& plan) {
  return memory_peak(plan.program, kAccelerator).bytes;
}

/// A step of a net of `layers` layers whose values, 512 KiB each, take far more memory than its weights.
std::string deep_net(int layers, const std::string& indent = "") {
  std::string text;
  const auto add = [&](const std::string& line) { text += indent + "  - " + line + "\n"; };
  add("h: x");
  std::string weights;
  for (int i = 0; i < layers; ++i) {
    add("h: tanh(matmul(h, w" + std::to_string(i) + ") + 0.1)");
    weights += ", w" + std::to_string(i);
  }
  add("loss: mean(h * h)");
  std::string gradients = "g0";
  for (int i = 1; i < layers; ++i) gradients += ", g" + std::to_string(i);
  add("\"" + gradients + "\": gradient(loss" + weights + ")");
  for (int i = 0; i < layers; ++i) add("w" + std::to_string(i) + ": w" + std::to_string(i) + " - 0.1 * g" + std::to_string(i));
  return text;
}
std::string head(int layers) {
  std::string text = "cleave: 1\nmodel: deep\nparameters:\n  x: {type: \"f32[2048, 64]\", normal: [0, 1], seed: 1}\n";
  for (int i = 0; i < layers; ++i)
    text += "  w" + std::to_string(i) + ": {type: \"f32[64, 64]\", normal: [0, 0.1], seed: " + std::to_string(i + 2) + "}\n";
  return text + "program:\n";
}
Graph straight(int layers) {
  return parse_model(head(layers) + deep_net(layers) + "outputs: [loss, w0, w" + std::to_string(layers - 1) + "]\n", "m.yaml");
}
Graph in_a_loop(int layers) {
  return parse_model(head(layers) + "  - for: step in 3\n    do:\n" + deep_net(layers, "    ") + "outputs: [w0]\n", "m.yaml");
}

std::map<std::string, Array> run(const Plan& plan) {
  const auto executor = make_executor(plan, *choose_device("simulated"));
  EXPECT_TRUE(executor.ok());
  if (!executor.ok()) return {};
  const Result<RunResult> result = (*executor)->run({});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  EXPECT_EQ((*executor)->measured_peak(kAccelerator), (*executor)->planned_peak(kAccelerator));
  std::map<std::string, Array> outputs;
  if (result.ok())
    for (const auto& [name, array] : result->outputs) outputs.emplace(name, array);
  return outputs;
}

void expect_equal_bits(const Plan& one, const Plan& other) {
  const auto a = run(one), b = run(other);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) EXPECT_TRUE(array == b.at(name)) << name;
}

/// A plan with too little memory computes values again, and its results have the bits of one with enough.
void expect_saving_keeps_bits(const Graph& graph) {
  const Plan all = plan_saving(graph, 0);
  const Plan little = plan_saving(graph, 0.65 * peak_of(all));
  ASSERT_TRUE(all.complete() && little.complete());
  ASSERT_TRUE(little.saved);
  expect_equal_bits(all, little);
}

class SavedMemoryOf : public ::testing::TestWithParam<Graph (*)(int)> {};
INSTANTIATE_TEST_SUITE_P(Each, SavedMemoryOf, ::testing::Values(straight, in_a_loop));

TEST_P(SavedMemoryOf, ADeepNetFitsIntoAFractionOfItsMemory) {
  const Graph graph = GetParam()(36);
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  const Plan all = plan_saving(graph, 0);
  ASSERT_TRUE(all.complete());
  EXPECT_FALSE(all.saved);
  double before = all.placement.objective_seconds;
  for (const double fraction : {0.9, 0.75, 0.6, 0.5, 0.45}) {
    SCOPED_TRACE(fraction);
    const Plan little = plan_saving(graph, fraction * peak_of(all));
    ASSERT_TRUE(little.complete()) << to_text(little.diagnostics);
    ASSERT_TRUE(little.saved);
    EXPECT_LE(peak_of(little), fraction * peak_of(all));
    EXPECT_EQ(verify(little.program), std::vector<std::string>{});
    const auto again = std::count_if(little.saved->values.begin(), little.saved->values.end(),
                                     [](const auto& value) { return value.how == planner::SavedValue::How::again; });
    EXPECT_GT(again, 0);
    EXPECT_LE(again, 36 * 3) << "three operations a layer";
    ASSERT_TRUE(little.saved->bound_seconds);
    EXPECT_LE(*little.saved->bound_seconds, little.saved->seconds);
    EXPECT_GE(little.placement.objective_seconds, before * (1 - 1e-9)) << "more memory never costs more";
    EXPECT_LT(little.placement.objective_seconds, 1.5 * all.placement.objective_seconds) << "at most the forward part again";
    before = little.placement.objective_seconds;
  }
}

TEST_P(SavedMemoryOf, ResultsKeepTheirBits) {
  const Graph graph = GetParam()(16);
  expect_saving_keeps_bits(graph);
}

TEST(SavedMemory, RandomMasksAreDrawnAgainAsTheyWere) {
  std::string net = deep_net(16);
  for (std::size_t at = net.find(") + 0.1)"); at != std::string::npos; at = net.find(") + 0.1)", at + 1))
    net.replace(at, 8, ") + dropout(ones([2048, 64]), 0.5, seed=" + std::to_string(at) + ", step=0))");
  const Graph graph = parse_model(head(16) + net + "outputs: [loss, w0]\n", "m.yaml");
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  expect_saving_keeps_bits(graph);
}

TEST(SavedMemory, NothingIsComputedAgainWhereItFitsOrWhereAllIsKept) {
  const Graph graph = straight(16);
  const Plan all = plan_saving(graph, 0);
  EXPECT_FALSE(plan_saving(graph, peak_of(all)).saved);
  EXPECT_TRUE(plan_saving(graph, 0.65 * peak_of(all)).saved);
  EXPECT_FALSE(plan_saving(graph, 0.65 * peak_of(all), true).complete()) << "with everything on the accelerator";
}

/// A recurrent net whose forward loop keeps a row of 32 KiB of each of 1000 trips for the backward loop.
constexpr std::string_view kStacked =
    "cleave: 1\nmodel: rnn\nparameters:\n  w: {type: \"f32[128, 128]\", normal: [0, 0.08], seed: 1}\n"
    "  h: {type: \"f32[64, 128]\", normal: [0, 1], seed: 2}\nprogram:\n  - stack: zeros([1000, 64, 128])\n  - for: i in 1000\n    do:\n"
    "      - h: tanh(matmul(h, w))\n      - stack: dynamic_update_slice(stack, h, [i, 0, 0])\n  - g: ones([64, 128])\n"
    "  - gw: zeros([128, 128])\n  - for: j in 1000\n    do:\n      - k: 999 - j\n      - r: stack[k]\n      - g: g * (1 - r * r)\n"
    "      - gw: gw + matmul(transpose(r), g)\n      - g: matmul(g, transpose(w))\noutputs: [gw]\n";

TEST(SavedMemory, ALoopsStackIsKeptOnTheHostWhichIsNoRoundTrip) {
  const Graph graph = parse_model(std::string(kStacked), "rnn.yaml");
  double before = 1;
  for (const double mebibytes : {1, 2, 4, 8, 16, 24, 31, 40}) {
    SCOPED_TRACE(mebibytes);
    const Plan plan = plan_saving(graph, mebibytes * 1048576, false, Policy::optimal);
    ASSERT_TRUE(plan.complete());
    EXPECT_LE(peak_of(plan), mebibytes * 1048576);
    EXPECT_LE(plan.placement.objective_seconds, before * (1 + 1e-9)) << "more memory never costs more";
    EXPECT_LT(plan.placement.objective_seconds, 0.103);
    before = plan.placement.objective_seconds;
    EXPECT_TRUE(plan.round_trips.empty());
    const std::string text = to_text(plan.diagnostics);
    EXPECT_EQ(text.find("`stack` is kept on the host, as the accelerator's memory is too small") != std::string::npos, mebibytes < 40)
        << text;
    EXPECT_EQ(text.find("round-trip]"), std::string::npos) << text;
  }
}

std::size_t count(const Plan& plan, planner::SavedValue::How how) {
  const auto& values = plan.saved->values;
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [&](const auto& value) { return value.how == how; }));
}

/// The net with a line behind each of its layers.
Graph straight_with(int layers, const std::string& line) {
  std::string net = deep_net(layers);
  for (std::size_t at = net.find(" + 0.1)\n"); at != std::string::npos; at = net.find(" + 0.1)\n", at + 1))
    net.insert(at + 7, "\n    " + line);
  return parse_model(head(layers) + net + "outputs: [loss, w0]\n", "m.yaml");
}

TEST(SavedMemory, PinnedValuesAreKeptOnTheHostInsteadWhichIsNoRoundTrip) {
  const Graph graph = straight_with(16, "recompute: false");
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  const Plan all = plan_saving(graph, 0);
  const Plan little = plan_saving(graph, 0.65 * peak_of(all));
  ASSERT_TRUE(little.complete()) << to_text(little.diagnostics);
  ASSERT_TRUE(little.saved);
  EXPECT_LE(peak_of(little), 0.65 * peak_of(all));
  EXPECT_LE(count(little, planner::SavedValue::How::again), 1u) << "what belongs to no layer has no pin";
  EXPECT_GT(count(little, planner::SavedValue::How::host), 2u);
  ASSERT_TRUE(little.saved->bound_seconds);
  EXPECT_LE(*little.saved->bound_seconds, little.saved->seconds);
  EXPECT_TRUE(little.round_trips.empty());
  const std::string text = to_text(little.diagnostics);
  EXPECT_NE(text.find("is kept on the host, as the accelerator's memory is too small"), std::string::npos) << text;
  EXPECT_EQ(text.find("round-trip]"), std::string::npos) << text;
  expect_equal_bits(all, little);
}

TEST(SavedMemory, PinnedValuesAreComputedAgainAlsoWhereTheMemorySuffices) {
  const Graph pinned = straight_with(16, "recompute: true"), kept = straight(16);
  const Plan all = plan_saving(pinned, 0);
  ASSERT_TRUE(all.complete());
  EXPECT_FALSE(all.saved);
  EXPECT_GT(all.graph->nodes.size(), plan_saving(kept, 0).graph->nodes.size());
  const std::string text = explain_text(all);
  EXPECT_NE(text.find("computed again"), std::string::npos) << text;
  EXPECT_NE(text.find("not kept for gradients, as pinned"), std::string::npos) << text;
}

TEST(SavedMemory, TheCheaperOfTheHostAndOfComputingAgainIsTaken) {
  const Graph graph = straight(16);
  const double limit = 0.65 * peak_of(plan_saving(graph, 0));
  const auto with_link = [&](double factor) {
    PlanOptions options;
    options.costs.machine = *Machine::shipped("simulated");
    options.costs.machine.accelerators[0].memory_bytes = limit;
    DeviceRates& accelerator = options.costs.machine.accelerators[0];
    for (LinkDirection* link : {&accelerator.host_to_accelerator, &accelerator.accelerator_to_host}) {
      link->latency_seconds /= factor;
      link->bytes_per_second *= factor;
    }
    options.costs.policy = Policy::accelerator;
    options.find_peak = memory_peak;
    return plan(graph, options);
  };
  const Plan slow = with_link(0.01), fast = with_link(1000);
  ASSERT_TRUE(slow.saved && fast.saved);
  EXPECT_EQ(count(slow, planner::SavedValue::How::host), 0u);
  EXPECT_EQ(count(fast, planner::SavedValue::How::again), 0u);
  EXPECT_LT(fast.saved->seconds, slow.saved->seconds);
  for (const Plan& each : {slow, fast}) EXPECT_LE(peak_of(each), limit);
}

/// A recurrent net of 1000 trips and its gradient by the rule.
std::string recurrent(const std::string& more = "") {
  return "cleave: 1\nmodel: recurrent\nparameters:\n  w: {type: \"f32[64, 64]\", normal: [0, 0.12], seed: 1}\n"
         "  start: {type: \"f32[32, 64]\", normal: [0, 1], seed: 2}\nprogram:\n  - h: start\n  - for: i in 1000\n    do:\n"
         "      - h: tanh(matmul(h, w))\n" +
         more + "  - loss: mean(h * h)\n";
}
const std::string kSlope = "  - slope: gradient(loss, w)\noutputs: [loss, slope]\n";

TEST(SegmentedLoops, AStackOfAThousandTripsFitsIntoAFractionOfItsMemory) {
  const Graph graph = parse_model(recurrent() + kSlope, "rnn.yaml");
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  const Plan all = plan_saving(graph, 0);
  const double forward = plan_saving(parse_model(recurrent() + "outputs: [loss]\n", "rnn.yaml"), 0).placement.objective_seconds;
  EXPECT_GT(peak_of(all), 1000 * 32 * 64 * 4);
  double before = all.placement.objective_seconds;
  for (const double fraction : {0.6, 0.3, 0.1, 0.06}) {
    SCOPED_TRACE(fraction);
    const Plan little = plan_saving(graph, fraction * peak_of(all));
    ASSERT_TRUE(little.complete()) << to_text(little.diagnostics);
    ASSERT_TRUE(little.saved);
    EXPECT_LE(peak_of(little), fraction * peak_of(all));
    ASSERT_EQ(little.saved->loops.size(), 1u);
    const planner::SegmentedLoop& loop = little.saved->loops[0];
    EXPECT_EQ(loop.trips, 1000);
    EXPECT_GT(loop.every, 1);
    EXPECT_LT(loop.bytes, loop.stacked_bytes);
    EXPECT_LE(loop.seconds, forward) << "the trips are computed again once";
    // A trip that is computed again also writes its rows, as the forward part did before; the places of rows are computed, too.
    EXPECT_LE(little.placement.objective_seconds, all.placement.objective_seconds + 2.6 * forward);
    EXPECT_GE(little.placement.objective_seconds, before * (1 - 1e-9)) << "more memory never costs more";
    EXPECT_FALSE(little.saved->bound_seconds) << "no bound holds for segments";
    EXPECT_EQ(verify(little.program), std::vector<std::string>{});
    before = little.placement.objective_seconds;
    const std::string text = explain_text(little);
    EXPECT_NE(text.find("trips computed again from every "), std::string::npos) << text;
    EXPECT_NE(text.find("is not proved"), std::string::npos) << text;
  }
}

TEST(SegmentedLoops, KeepBits) {
  const Graph graph = parse_model(recurrent() + kSlope, "rnn.yaml");
  const Plan all = plan_saving(graph, 0);
  const Plan little = plan_saving(graph, 0.1 * peak_of(all));
  ASSERT_TRUE(little.saved && !little.saved->loops.empty());
  expect_equal_bits(all, little);
}

TEST(SegmentedLoops, AreNotMadeWhereAllIsKept) {
  const Graph graph = parse_model(recurrent() + kSlope, "rnn.yaml");
  EXPECT_FALSE(plan_saving(graph, 0.1 * peak_of(plan_saving(graph, 0)), true).complete()) << "with everything on the accelerator";
}

TEST(SegmentedLoops, OfTwoLoopsBothAreDividedIfOneDoesNotDo) {
  const std::string second = "  - for: i in 600\n    do:\n      - h: sin(matmul(h, w) + h)\n";
  const Graph graph = parse_model(recurrent(second) + kSlope, "rnn.yaml");
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  const Plan all = plan_saving(graph, 0);
  const Plan some = plan_saving(graph, 0.6 * peak_of(all)), both = plan_saving(graph, 0.1 * peak_of(all));
  ASSERT_TRUE(some.saved && both.saved);
  EXPECT_EQ(some.saved->loops.size(), 1u);
  ASSERT_EQ(both.saved->loops.size(), 2u);
  EXPECT_LE(peak_of(both), 0.1 * peak_of(all));
  expect_equal_bits(all, both);
}

TEST(SavedMemory, TheAdviceOfEnoughMemoryIsGivenWhereItHelps) {
  const Graph graph = parse_model(recurrent() + kSlope, "rnn.yaml");
  const Plan all = plan_saving(graph, 0), little = plan_saving(graph, 0.1 * peak_of(all));
  ASSERT_TRUE(little.saved && little.memory_shortage);
  EXPECT_NEAR(little.memory_shortage->seconds, all.predicted_seconds, 1e-3 * all.predicted_seconds);
  const auto& cures = little.account.cures;
  const bool said = std::any_of(cures.begin(), cures.end(), [](const auto& cure) { return cure.kind == planner::Cure::Kind::memory; });
  EXPECT_TRUE(said);
  EXPECT_TRUE(all.account.cures.empty() || all.account.cures[0].kind != planner::Cure::Kind::memory);
}

TEST(SavedMemory, WhatIsSaidNamesTheLines) {
  const Graph graph = straight(16);
  const Plan little = plan_saving(graph, 0.65 * peak_of(plan_saving(graph, 0)));
  ASSERT_TRUE(little.saved);
  double seconds = 0;
  for (const planner::SavedValue& value : little.saved->values) {
    EXPECT_TRUE(value.location.known()) << value.name;
    EXPECT_GT(value.bytes, 0) << value.name;
    EXPECT_EQ(value.how != planner::SavedValue::How::kept, value.seconds > 0) << value.name;
    seconds += value.seconds;
  }
  EXPECT_NEAR(seconds, little.saved->seconds, 1e-12);
  const std::string text = explain_text(little);
  EXPECT_NE(text.find("for lack of memory"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave::testing
