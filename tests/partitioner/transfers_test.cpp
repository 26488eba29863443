// Kinds, frequencies and marks of transfers, as the interfaces define them.
#include "partitioner/transfers.h"

#include <gtest/gtest.h>

#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/random_graph.h"

namespace cleave {
namespace {

Plan plan_model(const std::string& program, const std::string& rest = "") {
  const std::string type = "\"f32[64, 64]\"";
  const std::string text = "cleave: 1\nmodel: m\nhost_functions:\n  f: {library: ./l.so, symbol: s, takes: [" + type +
                           "], returns: " + type + ", pure: true}\ninputs:\n  s: " + type + "\nparameters:\n  w: {type: " + type +
                           ", value: 1}\nprogram:\n" + program + rest;
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  Plan result = plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(result.complete());
  return result;
}

const Transfer* find(const Plan& plan, const std::string& name, DeviceId to) {
  for (const Transfer& t : plan.transfers.items) {
    if (plan.graph->values[t.value].name == name && t.to == to) return &t;
  }
  return nullptr;
}

TEST(Transfers, InputsAreArgumentsAndOutputsResults) {
  const Plan plan = plan_model("  - for: i in 10\n    do:\n      - w: matmul(w, s)\n", "outputs: [w]\n");
  ASSERT_EQ(plan.transfers.items.size(), 3u);
  EXPECT_EQ(find(plan, "s", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "w", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "w", kHost)->kind, TransferKind::result);
  for (const Transfer& t : plan.transfers.items) EXPECT_EQ(t.bytes, 64 * 64 * 4);
}

TEST(Transfers, APrintAfterTheLastLoopIsASend) {
  const Plan plan = plan_model("  - for: i in 10\n    do:\n      - w: matmul(w, s)\n  - print(\"w\", w)\n", "outputs: [w]\n");
  ASSERT_NE(find(plan, "w", kHost), nullptr);
  EXPECT_EQ(find(plan, "w", kHost)->kind, TransferKind::send);
}

TEST(Transfers, WhatTheHostComputesFromHostDataIsAnArgumentOutsideOfLoops) {
  const Plan plan =
      plan_model("  - before: f(s)\n  - for: i in 10\n    do:\n      - inside: f(before + i)\n      - w: matmul(w, before) + inside\n",
                 "outputs: [w]\n");
  ASSERT_NE(find(plan, "before", kAccelerator), nullptr);
  EXPECT_EQ(find(plan, "before", kAccelerator)->kind, TransferKind::argument);
  EXPECT_EQ(find(plan, "before", kAccelerator)->frequency, 1);
  ASSERT_NE(find(plan, "inside", kAccelerator), nullptr);
  EXPECT_EQ(find(plan, "inside", kAccelerator)->kind, TransferKind::send);
  EXPECT_EQ(find(plan, "inside", kAccelerator)->frequency, 10);
}

TEST(Transfers, WhatFollowsFromAcceleratorWorkIsASend) {
  const Plan plan = plan_model("  - a: matmul(w, w)\n  - r: f(a)\n  - w: matmul(r, a)\n", "outputs: [w]\n");
  EXPECT_EQ(find(plan, "r", kAccelerator)->kind, TransferKind::send);
  EXPECT_EQ(find(plan, "a", kHost)->kind, TransferKind::send);
}

TEST(Transfers, MarksHoldOnlyIfEveryReadingIsMarked) {
  const Plan marked = plan_model("  - a: matmul(w, w)\n  - r: f(to_host(a))\n  - w: matmul(to_accelerator(r), a)\n", "outputs: [w]\n");
  EXPECT_TRUE(find(marked, "a", kHost)->is_explicit);
  EXPECT_TRUE(find(marked, "r", kAccelerator)->is_explicit);
  const Plan mixed = plan_model("  - a: matmul(w, w)\n  - r: f(to_host(a))\n  - q: f(a)\n  - w: matmul(r, q)\n", "outputs: [w]\n");
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
    for (std::size_t i = 0; i < sends.size(); ++i) {
      EXPECT_GE(sends[i], 0);
      if (i) {
        EXPECT_LT(sends[i - 1], sends[i]);
      }
      seconds += p.transfers.items[i].seconds;
    }
    EXPECT_LE(seconds, p.placement.objective_seconds * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace cleave
