// Kinds, frequencies and flags of transfers, as the headers define them.
#include "partitioner/apply/transfers.h"

#include <gtest/gtest.h>

#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {
namespace {

Plan plan_text(const std::string& text) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  Plan result = plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(result.complete());
  return result;
}

Plan plan_with_input(const std::string& program, const std::string& rest = "") {
  const std::string type = "\"f32[64, 64]\"";
  const std::string text = "cleave: 1\nmodel: m\nhost_functions:\n  f: {library: ./l.so, symbol: s, takes: [" + type +
                           "], returns: " + type + ", pure: true}\ninputs:\n  s: " + type + "\nparameters:\n  w: {type: " + type +
                           ", value: 1}\nprogram:\n" + program + rest;
  return plan_text(text);
}

const Transfer* find(const Plan& plan, const std::string& name, DeviceId to) {
  for (const Transfer& t : plan.transfers.items) {
    if (plan.graph->values[t.value].name == name && t.to == to) return &t;
  }
  return nullptr;
}

TEST(Transfers, InputsAreArgumentsAndOutputsResults) {
  const Plan plan = plan_with_input("  - for: i in 10\n    do:\n      - w: matmul(w, s)\n", "outputs: [w]\n");
  ASSERT_EQ(plan.transfers.items.size(), 3u);
  EXPECT_EQ(find(plan, "s", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "w", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "w", kHost)->kind, TransferKind::result);
  for (const Transfer& t : plan.transfers.items) EXPECT_EQ(t.bytes, 64 * 64 * 4);
}

TEST(Transfers, APrintAfterTheLastLoopIsASend) {
  const Plan plan = plan_with_input("  - for: i in 10\n    do:\n      - w: matmul(w, s)\n  - print(\"w\", w)\n", "outputs: [w]\n");
  ASSERT_NE(find(plan, "w", kHost), nullptr);
  EXPECT_EQ(find(plan, "w", kHost)->kind, TransferKind::send);
}

TEST(Transfers, WhatTheHostComputesFromHostDataIsAnArgumentOutsideOfLoops) {
  const Plan plan =
      plan_with_input("  - before: f(s)\n  - for: i in 10\n    do:\n      - inside: f(before + i)\n      - w: matmul(w, before) + inside\n",
                      "outputs: [w]\n");
  ASSERT_NE(find(plan, "before", kAccelerator), nullptr);
  EXPECT_EQ(find(plan, "before", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "before", kAccelerator)->frequency, 1);
  ASSERT_NE(find(plan, "inside", kAccelerator), nullptr);
  EXPECT_EQ(find(plan, "inside", kAccelerator)->kind, TransferKind::send);
  EXPECT_EQ(find(plan, "inside", kAccelerator)->frequency, 10);
}

TEST(Transfers, WhatFollowsFromAcceleratorWorkIsASend) {
  const Plan plan = plan_with_input("  - a: matmul(w, w)\n  - r: f(a)\n  - w: matmul(r, a)\n", "outputs: [w]\n");
  EXPECT_EQ(find(plan, "r", kAccelerator)->kind, TransferKind::send);
  EXPECT_EQ(find(plan, "a", kHost)->kind, TransferKind::send);
}

/// The kinds of the transfers in one direction, in program order.
std::vector<TransferKind> kinds(const Plan& plan, DeviceId to) {
  std::vector<TransferKind> kinds;
  for (const Transfer& t : plan.transfers.items) {
    if (t.to == to) kinds.push_back(t.kind);
  }
  return kinds;
}

constexpr TransferKind kArgument = TransferKind::argument, kResult = TransferKind::result, kSend = TransferKind::send;
const std::string kFlags = "  c: \"bool[]\"\n  d: \"bool[]\"\n";

/// `program` with the inputs c and d, which branches can test.
Plan plan_branches(const std::string& program, const std::string& outputs) {
  const std::string text = "cleave: 1\nmodel: m\ninputs:\n" + kFlags +
                           "  s: \"f32[64, 64]\"\nparameters:\n  w: {type: \"f32[64, 64]\", value: 1}\nprogram:\n" + program + outputs;
  return plan_text(text);
}

TEST(Transfers, AResultMayLeaveThroughABranch) {
  const Plan merged =
      plan_branches("  - y: w + 1\n  - if: c\n    then:\n      - y: tanh(w)\n    else:\n      - y: matmul(w, w)\n", "outputs: [y]\n");
  ASSERT_FALSE(kinds(merged, kHost).empty());
  for (const TransferKind kind : kinds(merged, kHost)) EXPECT_EQ(kind, kResult);
  const Plan nested = plan_branches(
      "  - y: w + 1\n  - if: c\n    then:\n      - if: d\n        then:\n          - y: tanh(w)\n        else:\n          - y: exp(w)\n"
      "    else:\n      - y: matmul(w, w)\n",
      "outputs: [y]\n");
  ASSERT_FALSE(kinds(nested, kHost).empty());
  for (const TransferKind kind : kinds(nested, kHost)) EXPECT_EQ(kind, kResult);
}

TEST(Transfers, WhatIsPrintedBehindTheBranchIsASend) {
  const std::string program =
      "  - y: w + 1\n  - if: c\n    then:\n      - if: d\n        then:\n          - y: tanh(w)\n"
      "    else:\n      - y: matmul(w, w)\n";
  const Plan printed = plan_branches(program + "  - print(\"y\", y)\n", "outputs: [y]\n");
  ASSERT_FALSE(kinds(printed, kHost).empty());
  for (const TransferKind kind : kinds(printed, kHost)) EXPECT_EQ(kind, kSend);
  // Of the values that a loop yields, only the one inside the loop is a transfer.
  const Plan looped = plan_branches(
      "  - for: i in 5\n    do:\n      - w: tanh(w)\n      - if: c\n        then:\n          - w: matmul(w, w)\n", "outputs: [w]\n");
  EXPECT_EQ(kinds(looped, kHost), std::vector{kResult});
}

TEST(Transfers, InputsReadInABranchAreArguments) {
  const Plan in_one = plan_branches("  - y: w\n  - if: c\n    then:\n      - y: matmul(w, s)\n", "outputs: [y]\n");
  ASSERT_NE(find(in_one, "s", kAccelerator), nullptr);
  for (const TransferKind kind : kinds(in_one, kAccelerator)) EXPECT_EQ(kind, kArgument);
  // One of the two branches runs: still at most one transfer.
  const Plan in_both =
      plan_branches("  - y: w\n  - if: c\n    then:\n      - y: matmul(w, s)\n    else:\n      - y: tanh(s)\n", "outputs: [y]\n");
  for (const TransferKind kind : kinds(in_both, kAccelerator)) EXPECT_EQ(kind, kArgument);
  // The accelerator decides the branch, and the value is still only an input.
  const Plan decided = plan_branches("  - y: tanh(w)\n  - if: max(y) > 0.5\n    then:\n      - y: matmul(y, s)\n", "outputs: [y]\n");
  ASSERT_NE(find(decided, "s", kAccelerator), nullptr);
  for (const TransferKind kind : kinds(decided, kAccelerator)) EXPECT_EQ(kind, kArgument);
}

TEST(Transfers, WhatMayBeSentTwiceARunIsNoArgument) {
  const std::string branch = "    probability: 0.1\n    then:\n      - y: matmul(y, s)\n";
  const Plan twice = plan_branches("  - y: tanh(w)\n  - if: c\n" + branch + "  - if: d\n" + branch, "outputs: [y]\n");
  std::size_t sent = 0;
  for (const Transfer& t : twice.transfers.items) {
    if (twice.graph->values[t.value].name != "s") continue;
    ++sent;
    EXPECT_EQ(t.kind, kSend);
    EXPECT_NE(t.region, Graph::kRoot);
  }
  EXPECT_EQ(sent, 2u);  // 0.2 times a run are cheaper than once
}

TEST(Transfers, MarksHoldOnlyIfEveryReadingIsMarked) {
  const Plan marked = plan_with_input("  - a: matmul(w, w)\n  - r: f(to_host(a))\n  - w: matmul(to_accelerator(r), a)\n", "outputs: [w]\n");
  EXPECT_TRUE(find(marked, "a", kHost)->is_explicit);
  EXPECT_TRUE(find(marked, "r", kAccelerator)->is_explicit);
  const Plan mixed = plan_with_input("  - a: matmul(w, w)\n  - r: f(to_host(a))\n  - q: f(a)\n  - w: matmul(r, q)\n", "outputs: [w]\n");
  EXPECT_FALSE(find(mixed, "a", kHost)->is_explicit);
}

TEST(Transfers, StandInProgramOrderWithPositiveCosts) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlanOptions options;
    options.costs.machine = *Machine::shipped("simulated");
    options.costs.policy = Policy::accelerator;
    const Plan p = plan(testing::random_graph(seed), options);
    std::vector<std::int64_t> sends(p.transfers.items.size(), -1);
    double seconds = 0;
    for (const DeviceProgram& device : p.program.devices) {
      for (const Block& block : device.blocks) {
        for (const Step& step : block.steps) {
          if (step.kind == StepKind::send) sends[step.channel.index] = step.order;
        }
      }
    }
    std::int64_t last = -1;
    for (std::size_t i = 0; i < sends.size(); ++i) {
      EXPECT_GE(sends[i], 0);
      const NodeKind kind = p.graph->producer(p.transfers.items[i].value).kind;
      // Values that exist from the start are sent first, in the order in which they are read.
      if (kind != NodeKind::input && kind != NodeKind::parameter && kind != NodeKind::constant) {
        EXPECT_LT(last, sends[i]);
        last = sends[i];
      }
      seconds += p.transfers.items[i].seconds;
    }
    EXPECT_LE(seconds, p.placement.objective_seconds * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace cleave::testing
