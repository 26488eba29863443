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
    const auto again =
        std::count_if(little.saved->values.begin(), little.saved->values.end(), [](const auto& value) { return value.again; });
    EXPECT_GT(again, 0);
    EXPECT_LE(again, 36 * 3) << "three operations a layer";
    EXPECT_LE(little.saved->bound_seconds, little.saved->seconds);
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

TEST(SavedMemory, WhatIsSaidNamesTheLines) {
  const Graph graph = straight(16);
  const Plan little = plan_saving(graph, 0.65 * peak_of(plan_saving(graph, 0)));
  ASSERT_TRUE(little.saved);
  double seconds = 0;
  for (const planner::SavedValue& value : little.saved->values) {
    EXPECT_TRUE(value.location.known()) << value.name;
    EXPECT_GT(value.bytes, 0) << value.name;
    EXPECT_EQ(value.again, value.seconds > 0) << value.name;
    seconds += value.seconds;
  }
  EXPECT_NEAR(seconds, little.saved->seconds, 1e-12);
  const std::string text = explain_text(little);
  EXPECT_NE(text.find("for lack of memory"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave::testing
