// The breakdown of a predicted run's time: by hand on a machine of round numbers, and on random programs, where the shares add up to the
// time of the run.
#include "partitioner/apply/account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/round_machine.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

double total(const AccountShares& s) {
  return s.producer + s.host_to_accelerator + s.accelerator + s.accelerator_to_host + s.launch + s.consumer + s.control + s.host;
}

/// A product takes 1 on the accelerator, a copy 2, each of the host functions 10; nothing else takes time. Workers may call `slow1` to
/// `slow4`.
Plan accounted(const std::string& program, const std::string& outputs = "[w]", int workers = 1, bool tries_workers = true) {
  const std::string type = "\"f32[256, 256]\"";
  const std::string text =
      "cleave: 1\nmodel: m\nhost_functions:\n"
      "  f: {library: ./l.so, takes: [" +
      type + "], returns: " + type +
      ", pure: true}\n"
      "  load: {library: ./l.so, takes: [\"i32[]\"], returns: " +
      type +
      ", pure: true}\n"
      "  slow1: {library: ./l.so, takes: [\"i32[]\"], returns: " +
      type +
      ", pure: true, seconds: 10}\n"
      "  slow2: {library: ./l.so, takes: [\"i32[]\"], returns: " +
      type +
      ", pure: true, seconds: 10}\n"
      "  slow3: {library: ./l.so, takes: [\"i32[]\"], returns: " +
      type +
      ", pure: true, seconds: 10}\n"
      "  slow4: {library: ./l.so, takes: [\"i32[]\"], returns: " +
      type +
      ", pure: true, seconds: 10}\n"
      "  keep: {library: ./l.so, takes: [" +
      type +
      "], returns: []}\n"
      "parameters:\n  w: {type: " +
      type + ", value: 1}\nprogram:\n" + program + "outputs: " + outputs + "\n";
  PlanOptions options;
  options.costs.machine = round_machine(10, 2);
  options.costs.policy = Policy::accelerator;
  options.costs.workers = workers;
  options.tries_workers = tries_workers;
  Plan result = plan(parse_model(text, "m.yaml"), options);
  EXPECT_TRUE(result.complete()) << text;
  EXPECT_NEAR(total(result.account.shares), result.predicted_seconds, 1e-9 * result.predicted_seconds);
  return result;
}

TEST(Account, OfAChainIsItsWorkAndItsCopies) {
  const Account account = accounted("  - w: matmul(matmul(w, w), w)\n").account;
  EXPECT_NEAR(account.shares.host_to_accelerator, 2, 1e-9);
  EXPECT_NEAR(account.shares.accelerator + account.shares.launch, 2, 1e-9);
  EXPECT_NEAR(account.shares.accelerator_to_host, 2, 1e-9);
  EXPECT_EQ(account.kind, Bottleneck::transfer);
  ASSERT_TRUE(account.transfer);
}

TEST(Account, OfALongLoopIsTheAcceleratorsWork) {
  const Account account = accounted("  - for: i in 1000\n    do:\n      - w: matmul(w, w)\n").account;
  EXPECT_EQ(account.kind, Bottleneck::launch) << "on this machine kernels take what their starts take";
  EXPECT_NEAR(account.shares.launch, 1000, 1e-6);
  EXPECT_NEAR(account.busy_seconds, 1000, 1e-6);
}

TEST(Account, NamesTheProducerAndTriesThreadsOfItsOwn) {
  const Plan plan = accounted("  - for: i in 100\n    prefetch: 0\n    do:\n      - w: matmul(load(i), w)\n");
  const Account& account = plan.account;
  EXPECT_EQ(account.kind, Bottleneck::input);
  EXPECT_EQ(plan.graph->nodes[account.blamed].location.line, 17);
  EXPECT_NEAR(account.shares.producer, 1000, 1e-6);
  EXPECT_NEAR(account.seconds, 1000 + 2 + 1 + 2, 1e-6) << "the last batch is copied and multiplied, and the result comes back";
  ASSERT_EQ(account.cures.size(), 2U);
  EXPECT_EQ(account.cures[0].kind, Cure::Kind::threads) << "one call a trip: workers have nothing to call at once";
  EXPECT_NEAR(account.cures[0].seconds, 500 + 5, 1e-6) << "2: 5 a trip, more than a copy takes";
  EXPECT_NEAR(account.cures[1].seconds, 1.25 + 100 * 2 + 1 + 2, 2) << "8: now the copies are the bottleneck";
}

/// The host waits for calls on workers one after the other; each second of waiting is charged to the awaited call.
TEST(Account, OfCallsOnWorkersIsWhatTheHostWaitsFor) {
  const std::string program =
      "  - for: i in 100\n    prefetch: 0\n    do:\n      - a: matmul(slow1(i), slow2(i))\n      - b: matmul(slow3(i), slow4(i))\n      - "
      "w: matmul(a, b)\n";
  for (const int workers : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(workers);
    const double rounds = workers == 1 ? 4 : workers < 4 ? 2 : 1, in_last_round = 4 - (rounds - 1) * std::min(workers, 4);
    const Account account = accounted(program, "[w]", workers).account;
    EXPECT_EQ(account.kind, Bottleneck::input);
    EXPECT_NEAR(account.shares.producer, rounds * 1000, 1e-6);
    EXPECT_NEAR(account.seconds, rounds * 1000 + 2 * in_last_round + 1 + 1 + 2, 1e-6) << "behind the last trip's last calls";
    std::vector<double> helpful;
    for (const Cure& cure : account.cures)
      if (cure.kind == Cure::Kind::workers) helpful.push_back(cure.number);
    EXPECT_EQ(helpful, workers == 1 ? std::vector<double>({2, 4}) : workers < 4 ? std::vector<double>({4}) : std::vector<double>());
    if (workers == 1) {
      EXPECT_EQ(account.cures[0].seconds, accounted(program, "[w]", 2).predicted_seconds);
      EXPECT_EQ(account.cures[1].seconds, accounted(program, "[w]", 4).predicted_seconds);
    }
  }
  for (const Cure& cure : accounted(program, "[w]", 1, false).account.cures) EXPECT_EQ(cure.kind, Cure::Kind::threads) << "no report asks";
}

TEST(Account, NamesTheConsumer) {
  const Plan plan = accounted("  - for: i in 100\n    do:\n      - w: matmul(w, w)\n      - keep(w)\n");
  const Account& account = plan.account;
  EXPECT_EQ(account.kind, Bottleneck::output);
  EXPECT_EQ(plan.graph->nodes[account.blamed].location.line, 17);
  EXPECT_NEAR(account.shares.consumer, 1000, 1e-6);
  ASSERT_GE(account.cures.size(), 1U);
  EXPECT_EQ(account.cures[0].kind, Cure::Kind::seldom);
  EXPECT_LT(account.cures[0].seconds, 0.3 * account.seconds);
}

TEST(Account, NamesTheRoundTrip) {
  const Plan plan = accounted("  - for: i in 100\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n");
  const Account& account = plan.account;
  EXPECT_EQ(account.kind, Bottleneck::round_trip);
  EXPECT_NEAR(account.kind_seconds, 100 * 14, 1e-6);
  EXPECT_NEAR(account.shares.host, 1000, 1e-6);
  EXPECT_NEAR(account.shares.host_to_accelerator, 2 + 200, 1e-6);
  ASSERT_EQ(account.cures.size(), 1U);
  EXPECT_NEAR(account.cures[0].seconds, 2 + 200 + 2, 1e-6);
}

TEST(Account, OfAProgramThatDoesNothing) {
  const Account account = accounted("  - y: w\n", "[]").account;
  EXPECT_EQ(account.kind, Bottleneck::host);
  EXPECT_EQ(account.seconds, 0);
  EXPECT_FALSE(account.blamed.valid());
}

TEST(Account, NestedLoopsAndArmsCountAsOftenAsTheyHappen) {
  const Account account = accounted(
                              "  - for: i in 10\n    do:\n      - for: j in 50\n        do:\n          - w: matmul(w, w)\n"
                              "      - if: i > 5\n        probability: 0.25\n        then:\n          - w: matmul(w, w)\n")
                              .account;
  EXPECT_NEAR(account.shares.accelerator + account.shares.launch, 10 * (50 + 1 + 0.25), 1e-6) << "the comparison is a kernel too";
}

/// `graph` with all its host functions pure and some of them asynchronous.
Graph with_calls_beside(Graph graph, std::uint64_t seed) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[NodeId(i)];
    if (!node.host_function()) continue;
    auto function = std::make_shared<HostFunction>(*node.host_function());
    function->pure = true;
    function->seconds = 1e-3 * static_cast<double>(1 + i % 5);
    if ((seed + i) % 3 == 0) function->begin = [](std::span<const Array>, std::span<Array>) { return Error{"never called"}; };
    node.attributes.set("function", std::shared_ptr<const HostFunction>(std::move(function)));
  }
  return graph;
}

/// The pieces of the critical path follow one another without a gap, so nothing of a run is left out or counted twice.
TEST(Account, SharesOfRandomProgramsAddUpToTheRun) {
  std::vector<int> met(7, 0);
  int beside = 0;
  for (std::uint64_t seed = 0; seed < draws(600U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PlanOptions options;
    options.costs.machine = *Machine::shipped(seed % 2 == 0 ? "simulated" : "h200");
    options.costs.policy = seed % 3 == 0 ? Policy::optimal : Policy::accelerator;
    options.costs.workers = static_cast<int>(1 + seed % 4);
    const Plan plan = planner::plan(seed % 4 < 2 ? random_graph(seed) : with_calls_beside(random_graph(seed), seed), options);
    if (seed % 4 >= 2 && calls_run_beside(*plan.graph, options.costs.workers)) ++beside;
    ASSERT_TRUE(plan.complete());
    const Account& account = plan.account;
    const AccountShares& s = account.shares;
    EXPECT_NEAR(total(s), plan.predicted_seconds, 1e-6 * plan.predicted_seconds);
    for (const double share :
         {s.producer, s.host_to_accelerator, s.accelerator, s.accelerator_to_host, s.launch, s.consumer, s.control, s.host})
      EXPECT_GE(share, -1e-6 * plan.predicted_seconds);
    EXPECT_LE(account.blamed_seconds, account.kind_seconds * (1 + 1e-9));
    for (const Cure& cure : account.cures) EXPECT_LT(cure.seconds, account.seconds);
    ++met[static_cast<std::size_t>(account.kind)];
    if (HasFailure()) return;
  }
  EXPECT_GT(beside, draws(20));
  EXPECT_GT(met[static_cast<std::size_t>(Bottleneck::transfer)], 0);
  EXPECT_GT(met[static_cast<std::size_t>(Bottleneck::round_trip)], 0);
}

}  // namespace
}  // namespace cleave::testing
