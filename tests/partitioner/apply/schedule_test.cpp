// The predicted elapsed time against times worked out by hand, and against its bounds on random programs.
#include "partitioner/apply/schedule.h"

#include <gtest/gtest.h>

#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {
namespace {

/// Every op takes 10 s on the host and 1 s on the accelerator, every transfer 2 s: easy to add up.
Machine round_machine() {
  Machine machine = *Machine::shipped("simulated");
  machine.host = DeviceRates{};
  machine.host.flops.fill(1e30);
  machine.host.bytes_per_second = 1e30;
  machine.host.overhead_seconds = 10;
  DeviceRates& accelerator = machine.accelerators[0];
  accelerator.flops.fill(1e30);
  accelerator.bytes_per_second = 1e30;
  accelerator.overhead_seconds = 1;
  accelerator.points.clear();
  accelerator.host_to_accelerator = accelerator.accelerator_to_host = LinkDirection{2, 1e30, {}, {}};
  return machine;
}

Plan plan_model(const std::string& program, const std::string& rest = "outputs: [w]\n") {
  const std::string type = "\"f32[8, 8]\"";
  const std::string text = "cleave: 1\nmodel: m\nhost_functions:\n  f: {library: ./l.so, symbol: s, takes: [" + type +
                           "], returns: " + type + ", pure: true}\nparameters:\n  w: {type: " + type + ", value: 1}\nprogram:\n" + program +
                           rest;
  PlanOptions options;
  options.costs.machine = round_machine();
  options.costs.policy = Policy::accelerator;
  const Plan result = plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(result.complete());
  return result;
}

TEST(Schedule, AChainAddsUp) {
  // argument 2, two products 2, result 2
  EXPECT_NEAR(plan_model("  - w: matmul(matmul(w, w), w)\n").predicted_seconds, 6, 1e-9);
}

TEST(Schedule, ArgumentsAreCopiedWhileOthersAreWorkedOn) {
  // arguments of 2 each come at 2, 4, 6 and 8; the products by them end at 5, 7 and 9; result 2
  std::string text = "cleave: 1\nmodel: m\nparameters:\n";
  for (const char* name : {"d", "c", "b", "a"}) text += std::string("  ") + name + ": {type: \"f32[8, 8]\", value: 1}\n";
  PlanOptions options;
  options.costs.machine = round_machine();
  options.costs.policy = Policy::accelerator;
  const Plan result = plan(parse_model(text + "program:\n  - y: matmul(matmul(matmul(a, b), c), d)\noutputs: [y]\n", "m.yaml"), options);
  EXPECT_NEAR(result.predicted_seconds, 11, 1e-9) << "they are sent in the order in which they are needed, not declared";
}

TEST(Schedule, LoopsAreExtrapolated) {
  EXPECT_NEAR(plan_model("  - for: i in 1000\n    do:\n      - w: matmul(w, w)\n").predicted_seconds, 1004, 1e-6);
}

TEST(Schedule, ARunItsTripsAndItsBranchesHaveCostsOfTheirOwn) {
  const std::string text =
      "cleave: 1\nmodel: m\nparameters:\n  w: {type: \"f32[8, 8]\", value: 1}\nprogram:\n  - for: i in 100\n    do:\n      - for: j in 5\n"
      "        do:\n          - w: matmul(w, w)\n      - if: i > 50\n        probability: 0.5\n        then:\n          - w: matmul(w, w)\n"
      "outputs: [w]\n";
  PlanOptions options;
  options.costs.machine = round_machine();
  options.costs.policy = Policy::host;
  const Plan without = plan(parse_model(text, "m.yaml"), options);
  options.costs.machine.host.run_seconds = 7;
  options.costs.machine.host.trip_seconds = 0.5;
  const Plan with = plan(parse_model(text, "m.yaml"), options);
  const double own = 7 + 0.5 * (100 + 100 * 5 + 100);
  EXPECT_NEAR(with.predicted_seconds, without.predicted_seconds + own, 1e-6);
  EXPECT_NEAR(with.all_host_seconds, without.all_host_seconds + own, 1e-6);
  EXPECT_NEAR(with.predicted_seconds, with.all_host_seconds, 1e-6) << "alone, one after the other";
}

TEST(Schedule, ARoundTripInALoopWaitsEveryTime) {
  // an iteration: product 1, out 2, host 10, back 2, product 1
  const Plan plan = plan_model("  - for: i in 100\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n");
  EXPECT_NEAR(plan.predicted_seconds, 2 + 100 * 16 + 2, 1e-6);
  const Schedule schedule = predict(plan.program, plan.transfers, plan.costed);
  ASSERT_EQ(schedule.waiting.size(), 2u);
  EXPECT_NEAR(schedule.waiting[1].wait_seconds, 100 * 14, 1e-6);
  EXPECT_NEAR(schedule.waiting[1].seconds, 100 * 16, 1e-6);
  EXPECT_TRUE(schedule.waiting[1].worst.valid());
}

TEST(Schedule, IndependentWorkOverlaps) {
  const Plan plan =
      plan_model("  - for: i in 100\n    do:\n      - x: matmul(w, w)\n      - r: f(x)\n      - y: matmul(x, x)\n      - w: r + y\n");
  EXPECT_NEAR(plan.predicted_seconds, 2 + 100 * 16 + 2, 1e-6) << "`y` costs nothing while the host computes `f`";
}

TEST(Schedule, LiesBetweenTheBusiestResourceAndTheSum) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions straight;
    straight.control_flow = false;
    PlanOptions options;
    options.costs.machine = round_machine();
    options.costs.policy = seed % 2 ? Policy::accelerator : Policy::optimal;
    const Plan p = plan(testing::random_graph(seed, straight), options);
    double host = 0, accelerator = 0, out = 0, back = 0;
    for (std::size_t i = 0; i < p.graph->nodes.size(); ++i) {
      if (p.placement.on_host[i]) host += p.costed.problem.nodes[i].host_seconds;
      if (p.placement.on_accelerator[i]) accelerator += p.costed.problem.nodes[i].accelerator_seconds;
    }
    for (const Transfer& t : p.transfers.items) (t.to == kHost ? out : back) += t.seconds;
    EXPECT_GE(p.predicted_seconds * (1 + 1e-9), std::max({host, accelerator, out, back}));
    EXPECT_LE(p.predicted_seconds, p.placement.objective_seconds * (1 + 1e-9) + 1e-12);
  }
}

}  // namespace
}  // namespace cleave::testing
