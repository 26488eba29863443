// --placement fastest: by prediction never slower than the placements that it is compared with, and faster where overlap allows it.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/kernel.h"
#include "models/model.h"
#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/compile.h"
#include "partitioner/report/explain.h"
#include "partitioner/solver/criticality.h"
#include "partitioner/solver/region_tree.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/round_machine.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

Plan plan_of(const Graph& graph, const Machine& machine, Policy policy) {
  PlanOptions options;
  options.costs.machine = machine;
  options.costs.policy = policy;
  return plan(graph, options);
}

Graph model(const std::string& program) {
  const std::string type = "\"f32[8, 8]\"";
  return parse_model("cleave: 1\nmodel: m\nparameters:\n  v: {type: " + type + ", value: 1}\n  w: {type: " + type +
                         ", value: 1}\nprogram:\n" + program + "outputs: [v, w]\n",
                     "m.yaml");
}

std::string chain(const std::string& name, int length) {
  std::string text;
  for (int i = 0; i < length; ++i) text += "  - " + name + ": matmul(" + name + ", " + name + ")\n";
  return text;
}

TEST(Makespan, TwoTowersRunSideBySide) {
  const Graph graph = model(chain("v", 10) + chain("w", 10));
  const Machine machine = round_machine(1.5, 0.5);
  const Plan optimal = plan_of(graph, machine, Policy::optimal), makespan = plan_of(graph, machine, Policy::fastest);
  EXPECT_NEAR(optimal.placement.objective_seconds, 2 * (0.5 + 10 + 0.5), 1e-9) << "the sum is least with all on the accelerator";
  EXPECT_NEAR(optimal.predicted_seconds, 0.5 + 20 + 0.5, 1e-9);
  EXPECT_NEAR(makespan.predicted_seconds, 15, 1e-9) << "one tower on the host meanwhile";
  EXPECT_NEAR(makespan.placement.objective_seconds, 11 + 15, 1e-9);
  EXPECT_NEAR(makespan.placement.bound_seconds, 22, 1e-6);
  EXPECT_NEAR(makespan.placement.gap, 4.0 / 26, 1e-6);
}

// The least sum of work and transfers need not end first: on the accelerator, the second tower's data arrives while the first is computed.
TEST(Makespan, TheOptimumSaysWhoIsPredictedToBeFaster) {
  const Graph graph = model(chain("v", 1) + chain("w", 1));
  const Plan plan = plan_of(graph, round_machine(2.5, 1), Policy::optimal);
  EXPECT_NEAR(plan.placement.objective_seconds, 5, 1e-9) << "both on the host; the accelerator's sum is 6";
  EXPECT_NEAR(plan.predicted_seconds, 5, 1e-9);
  EXPECT_NEAR(plan.all_host_predicted_seconds, 5, 1e-9);
  EXPECT_NEAR(plan.all_accelerator_predicted_seconds, 4, 1e-9);
  EXPECT_NE(explain_text(plan).find("\nremark: everything on the accelerator is predicted to be over sooner, in 4.0 s instead of 5.0 s: "),
            std::string::npos)
      << explain_text(plan);
  EXPECT_NE(explain_json(plan).find("\"all_accelerator_predicted_seconds\""), std::string::npos);
  EXPECT_EQ(faster_remark(plan_of(graph, round_machine(2.5, 1), Policy::accelerator)), "");
  EXPECT_EQ(faster_remark(plan_of(graph, round_machine(1, 1), Policy::optimal)), "");
  // Placements that a pin forbids are not compared.
  const Graph pinned = model(chain("v", 1) + "  - w: matmul(w, w)\n    place: accelerator\n");
  EXPECT_TRUE(std::isnan(plan_of(pinned, round_machine(2.5, 1), Policy::optimal).all_host_predicted_seconds));
}

TEST(Makespan, ATowerInALoopMovesAsAWhole) {
  const std::string body =
      "  - for: i in 100\n    do:\n      - v: matmul(v, v)\n      - v: matmul(v, v)\n      - w: matmul(w, w)\n"
      "      - w: matmul(w, w)\n";
  const Machine machine = round_machine(1.5, 0.5);
  const Plan makespan = plan_of(model(body), machine, Policy::fastest);
  EXPECT_NEAR(makespan.predicted_seconds, 300, 1e-6);
  const ElapsedBounds bounds = find_elapsed_bounds(makespan.program, makespan.costed, makespan.placement, makespan.transfers);
  EXPECT_NEAR(bounds.critical_path_seconds, 300, 1e-6) << "what is carried repeats in every trip";
  EXPECT_NEAR(bounds.busiest_seconds, 300, 1e-6);
  EXPECT_EQ(bounds.busiest, Resource::host);
  EXPECT_NE(explain_text(makespan).find("at least 300 s (critical path) and 300 s (busiest: the host)"), std::string::npos)
      << explain_text(makespan);
}

TEST(Makespan, WhereNothingOverlapsTheMinimumCutStays) {
  const Graph graph = model(chain("v", 10));
  const Machine machine = round_machine(10, 0.5);
  const Plan optimal = plan_of(graph, machine, Policy::optimal), makespan = plan_of(graph, machine, Policy::fastest);
  EXPECT_EQ(makespan.placement.on_accelerator, optimal.placement.on_accelerator);
  EXPECT_EQ(makespan.placement.gap, 0);
}

TEST(Makespan, SlackOfAShortTowerBesideALongOne) {
  const Graph graph = model(chain("v", 10) + chain("w", 2));
  const Plan p = plan_of(graph, round_machine(1, 1000), Policy::host);
  Placement split = p.placement;
  // The second tower on the accelerator, with a free transfer to it.
  PlacementProblem problem = plan_of(graph, round_machine(1, 0), Policy::optimal).costed.problem;
  ASSERT_EQ(problem.nodes.size(), split.on_host.size());
  std::vector<std::size_t> tower;
  for (std::size_t i = 0; i < p.graph->nodes.size(); ++i)
    if (p.graph->nodes[NodeId(i)].kind == NodeKind::operation) tower.push_back(i);
  ASSERT_EQ(tower.size(), 12u);
  for (std::size_t k = 10; k < 12; ++k) {
    split.on_host[tower[k]] = 0;
    split.on_accelerator[tower[k]] = 1;
  }
  const Criticality found = find_criticality(problem, UsesByValue(problem), evaluate(problem, split.on_host, split.on_accelerator));
  EXPECT_NEAR(found.node[0][tower[0]], 1, 1e-9);
  EXPECT_NEAR(found.node[0][tower[9]], 1, 1e-9);
  EXPECT_NEAR(found.node[1][tower[10]], 0.2, 1e-9) << "8 of 10 seconds to spare";
  EXPECT_LT(found.node[0][tower[11]], 0) << "it has no copy there";
  EXPECT_NEAR(found.busy[0], 10, 1e-9);
  EXPECT_NEAR(found.mean[1], 0.2, 1e-9);
}

TEST(Makespan, NeverSlowerThanTheBaselinesAndWellFormed) {
  int faster = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions random;
    random.pins = seed % 3 == 0;
    random.max_ops = seed % 4 == 0 ? 100 : 30;
    const Graph graph = testing::random_graph(seed, random);
    const Machine machine = seed % 2 ? round_machine(2, 0.5) : *Machine::shipped("simulated");
    const Plan found = plan_of(graph, machine, Policy::fastest);
    const Plan optimal = plan_of(graph, machine, Policy::optimal);
    if (!optimal.complete()) continue;
    ASSERT_TRUE(found.complete());
    EXPECT_EQ(verify(found.costed.problem, found.placement), std::vector<std::string>{});
    EXPECT_EQ(verify(found.program), std::vector<std::string>{});
    const double most = found.predicted_seconds * (1 - 1e-9);
    EXPECT_LE(most, optimal.predicted_seconds);
    for (const Policy policy : {Policy::host, Policy::accelerator}) {
      const Plan baseline = plan_of(graph, machine, policy);
      const std::vector<std::string> broken = verify(found.costed.problem, baseline.placement);
      if (broken.empty()) {
        EXPECT_LE(most, baseline.predicted_seconds);
      }
      for (const std::string& rule : broken) EXPECT_NE(rule.find("pinned to the accelerator"), std::string::npos) << rule;
    }
    const Placement recomputed = evaluate(found.costed.problem, found.placement.on_host, found.placement.on_accelerator);
    EXPECT_DOUBLE_EQ(found.placement.objective_seconds, recomputed.objective_seconds);
    EXPECT_NEAR(found.placement.bound_seconds, optimal.placement.bound_seconds, 1e-9 * optimal.placement.bound_seconds);
    EXPECT_GE(found.placement.objective_seconds, optimal.placement.objective_seconds * (1 - 1e-9));
    const ElapsedBounds bounds = find_elapsed_bounds(found.program, found.costed, found.placement, found.transfers);
    EXPECT_LE(bounds.busiest_seconds, found.predicted_seconds * (1 + 1e-9));
    EXPECT_LE(bounds.critical_path_seconds, found.predicted_seconds * (1 + 1e-9));
    EXPECT_EQ(explain_json(found), explain_json(plan_of(graph, machine, Policy::fastest)));
    faster += found.predicted_seconds < 0.999 * optimal.predicted_seconds;
  }
  EXPECT_GE(faster, 5) << "the search finds nothing";
}

/// With fused kernels on the host.
TEST(Makespan, NeverSlowerThanTheOptimumOfAnyProgram) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions random;
    random.pins = seed % 3 == 0;
    random.max_ops = 20;
    const Graph graph = testing::random_graph(seed, random);
    PlanOptions options;
    options.costs.machine = seed % 2 ? round_machine(2, 0.5) : *Machine::shipped("simulated");
    options.costs.host_fuses = host_fuses;
    const Plan optimal = plan(graph, options);
    if (!optimal.complete()) continue;
    options.costs.policy = Policy::fastest;
    const Plan found = plan(graph, options);
    ASSERT_TRUE(found.complete());
    EXPECT_LE(found.predicted_seconds * (1 - 1e-9), optimal.predicted_seconds);
    ++tried;
    if (HasFailure()) return;
  }
  EXPECT_GT(tried, draws(800U));
}

}  // namespace
}  // namespace cleave::testing
