// Round trips: the search against a closure of all pairs on random plans, and what is and is not one.
#include "partitioner/apply/round_trips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

PlanOptions options(Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  return options;
}

/// A model with host functions f and g (pure) and h (an effect), all on f32[64, 64].
Plan plan_model(const std::string& program, const PlanOptions& with = options(), const std::string& head = "") {
  const std::string type = "\"f32[64, 64]\"";
  std::string text = "cleave: 1\nmodel: m\n" + head + "host_functions:\n";
  for (const char* name : {"f", "g", "h"}) {
    text += std::string("  ") + name + ": {library: ./l.so, symbol: s, takes: [" + type + "], returns: " + type +
            ", pure: " + (*name == 'h' ? "false" : "true") + "}\n";
  }
  text += "inputs:\n  s: " + type + "\nparameters:\n  w: {type: " + type + ", value: 1}\nprogram:\n" + program;
  const Plan result = plan(parse_model(text, "m.yaml"), with);
  EXPECT_TRUE(verify(result.program).empty());
  return result;
}

/// The members of all round trips by the words of their definition: every pair of nodes is asked whether one reaches the other.
std::set<std::uint32_t> members_by_closure(const Graph& graph, const Placement& placement, const Transfers& transfers) {
  const std::size_t n = graph.nodes.size();
  const auto on_host = [&](NodeId id) { return placement.on_host[id.index] != 0; };
  const auto computes = [&](NodeId id) {
    const NodeKind kind = graph.nodes[id].kind;
    return kind == NodeKind::operation || kind == NodeKind::carried || kind == NodeKind::merge;
  };
  std::vector<std::vector<char>> reach(n, std::vector<char>(n, 0));
  std::vector<char> arrives(n, 0), leaves(n, 0);
  const auto link = [&](ValueId value, std::size_t reader) {
    const NodeId from = graph.values[value].producer;
    const bool control = is_control(graph.nodes[NodeId(reader)].kind);
    if (!control && (!computes(NodeId(reader)) || !on_host(NodeId(reader)))) return;
    if (!on_host(from)) arrives[reader] = 1;
    if (on_host(from) && computes(from)) reach[from.index][reader] = 1;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    reach[i][i] = 1;
    for (ValueId value : node.inputs) link(value, i);
    for (RegionId region : node.regions) {
      if (graph.regions[region].predicate) link(graph.regions[region].predicate, i);
      for (NodeId inner : graph.regions[region].nodes) {
        if (is_control(graph.nodes[inner].kind) || (computes(inner) && on_host(inner))) reach[i][inner.index] = 1;
      }
    }
    if (node.kind == NodeKind::merge && on_host(NodeId(i))) reach[node.owner.index][i] = 1;
    // Accelerator work makes every control node around it a way back.
    if (computes(NodeId(i)) && placement.on_accelerator[i]) {
      if (node.kind == NodeKind::merge) leaves[node.owner.index] = 1;
      for (RegionId region = node.region; region != Graph::kRoot; region = graph.regions[region].parent)
        leaves[graph.regions[region].owner.index] = 1;
    }
  }
  for (const Transfer& t : transfers.items) {
    const NodeId from = graph.values[t.value].producer;
    if (t.to == kAccelerator && computes(from)) leaves[from.index] = 1;
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!reach[i][k]) continue;
      for (std::size_t j = 0; j < n; ++j) reach[i][j] = static_cast<char>(reach[i][j] | reach[k][j]);
    }
  }
  std::set<std::uint32_t> members;
  for (std::size_t i = 0; i < n; ++i) {
    if (!computes(NodeId(i)) || !on_host(NodeId(i)) || placement.on_accelerator[i]) continue;
    bool from_arrival = false, to_leave = false;
    for (std::size_t j = 0; j < n; ++j) {
      from_arrival = from_arrival || (arrives[j] && reach[j][i]);
      to_leave = to_leave || (leaves[j] && reach[i][j]);
    }
    if (from_arrival && to_leave) members.insert(static_cast<std::uint32_t>(i));
  }
  return members;
}

TEST(RoundTrips, MembersEqualTheClosure) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = testing::random_graph(seed);
    Diagnostics diagnostics;
    CostModel model = options().costs;
    const CostedProblem costed = make_problem(graph, model, diagnostics);
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> host(costed.problem.nodes.size()), accelerator(host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      const PlacementProblem::Node& node = costed.problem.nodes[i];
      accelerator[i] = node.pin == PlacementProblem::Pin::accelerator || (node.pin == PlacementProblem::Pin::none && random() % 3 != 0);
      host[i] = !accelerator[i] || (node.replicable && random() % 4 == 0);
    }
    const Placement placement = evaluate(costed.problem, host, accelerator);
    Transfers transfers = make_transfers(graph, costed, placement);
    std::set<std::uint32_t> members;
    for (const RoundTrip& trip : find_round_trips(graph, costed, placement, transfers)) {
      EXPECT_FALSE(trip.out.empty());
      EXPECT_FALSE(trip.back.empty() && trip.controls.empty());
      for (NodeId node : trip.through) EXPECT_TRUE(members.insert(node.index).second) << "in two round trips";
    }
    ASSERT_EQ(members, members_by_closure(graph, placement, transfers));
    found += members.size();
  }
  EXPECT_GT(found, 200u);
}

TEST(RoundTrips, OneHostComputationIsOneHoweverOftenItIsUsed) {
  const Plan plan = plan_model(
      "  - for: i in 10\n    do:\n      - a: matmul(w, w)\n      - r: f(a) + f(a + 1)\n      - w: matmul(r, a) + r\n  - print(\"w\", w)\n");
  EXPECT_EQ(plan.round_trips.size(), 2u) << "two calls, not joined by host work";
  const Plan once = plan_model(
      "  - for: i in 10\n    do:\n      - a: matmul(w, w)\n      - r: f(a)\n      - w: matmul(r, a) + r * r - r\n  - print(\"w\", w)\n");
  EXPECT_EQ(once.round_trips.size(), 1u);
}

TEST(RoundTrips, ChainedHostFunctionsAreOne) {
  const Plan plan = plan_model("  - for: i in 10\n    do:\n      - w: matmul(g(f(matmul(w, w))), w)\n  - print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].through.size(), 2u);
}

TEST(RoundTrips, AnAcceleratorPredicateJoinsNothing) {
  const Plan plan = plan_model(
      "  - while: sum(w) < 1e9\n    do:\n      - a: f(matmul(w, w))\n      - b: g(matmul(w, w))\n      - w: matmul(a, b)\n  - print(\"w\", "
      "w)\n");
  ASSERT_EQ(plan.round_trips.size(), 2u);
  for (const RoundTrip& trip : plan.round_trips) EXPECT_EQ(trip.out.size(), 1u) << "its own value, not the predicate";
}

TEST(RoundTrips, ThroughACarriedValue) {
  // What the host made of one iteration's values is sent in the next.
  const Plan plan = plan_model("  - r: f(s)\n  - for: i in 10\n    do:\n      - w: matmul(r, w)\n      - r: f(w)\n  - print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].frequency, 10);
  EXPECT_FALSE(plan.round_trips[0].via_control);
}

TEST(RoundTrips, HostDataAndPrintsAreNone) {
  const Plan plan = plan_model(
      "  - rate: f(s)\n  - for: i in 10\n    do:\n      - rate: g(rate)\n      - w: matmul(w, rate)\n      - print(\"largest\", max(w))\n"
      "      - if: i % 3 == 0\n        then:\n          - h(w)\n");
  EXPECT_TRUE(plan.round_trips.empty());
  EXPECT_TRUE(plan.diagnostics.empty()) << to_text(plan.diagnostics);
}

// --- what is said ----------------------------------------------------------------------------------------------------

const char* const kOneTrip = "  - for: i in 10\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n  - print(\"w\", w)\n";

TEST(RoundTripDiagnostics, AllowedOnesKeepTheirReason) {
  const Plan plan = plan_model(
      "  - for: i in 10\n    do:\n      - {w: \"matmul(f(matmul(w, w)), w)\", allow: {round-trip: the simulator is on the host}}\n  - "
      "print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_FALSE(plan.round_trips[0].warned());
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  EXPECT_EQ(plan.diagnostics.begin()->severity, Severity::allowed);
  EXPECT_THAT(plan.diagnostics.begin()->notes.back().message, HasSubstr("the simulator is on the host"));
}

TEST(RoundTripDiagnostics, FollowTheFlags) {
  PlanOptions silent = options(), strict = options();
  ASSERT_TRUE(silent.diagnostics.parse("Wno-round-trip"));
  ASSERT_TRUE(strict.diagnostics.parse("Werror=round-trip"));
  EXPECT_TRUE(plan_model(kOneTrip, silent).diagnostics.empty());
  EXPECT_EQ(plan_model(kOneTrip, silent).round_trips.size(), 1u);
  EXPECT_FALSE(plan_model(kOneTrip, strict).ok());
}

TEST(RoundTripDiagnostics, WithoutSourceTheySayTheSame) {
  const Plan plan = plan_model(kOneTrip);
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  const Diagnostic& d = *plan.diagnostics.begin();
  EXPECT_EQ(d.message, "`f` makes the accelerator wait for the host in every iteration");
  EXPECT_THAT(to_text(d), HasSubstr("runs on the host because it is a host function"));
  EXPECT_THAT(to_text(d), HasSubstr("machine `simulated`, assumed"));
}

TEST(Limits, AreErrorsWithWhatExceedsThem) {
  const Plan plan = plan_model(kOneTrip, options(), "limits: {round_trips: 0, transfers: 1, bytes_per_run: 1KiB}\n");
  EXPECT_FALSE(plan.ok());
  EXPECT_TRUE(plan.complete());
  int limits = 0;
  for (const Diagnostic& d : plan.diagnostics) limits += d.kind == DiagnosticKind::limit ? 1 : 0;
  EXPECT_EQ(limits, 3);
  EXPECT_TRUE(plan_model(kOneTrip, options(), "limits: {round_trips: 1, transfers: 100, bytes_per_run: 64MiB}\n").ok());
}

TEST(ImplicitCopies, NameUnmarkedSendsInTheWantedDirection) {
  PlanOptions with = options();
  ASSERT_TRUE(with.diagnostics.parse("Wno-round-trip"));
  ASSERT_TRUE(with.diagnostics.parse("Wimplicit-copy"));
  EXPECT_EQ(plan_model(kOneTrip, with).diagnostics.size(), 3u) << to_text(plan_model(kOneTrip, with).diagnostics);
  ASSERT_TRUE(with.diagnostics.parse("Wimplicit-copy=to-accelerator"));
  EXPECT_EQ(plan_model(kOneTrip, with).diagnostics.size(), 1u);
}

TEST(Fallbacks, NameOpsWithoutAKernel) {
  PlanOptions with = options();
  with.costs.supported = [](const Graph& graph, NodeId node) { return graph.op_name(node) != "exp"; };
  ASSERT_TRUE(with.diagnostics.parse("Wfallback"));
  const Plan plan = plan_model("  - for: i in 10\n    do:\n      - w: exp(matmul(w, w))\n  - print(\"w\", w)\n", with);
  int fallbacks = 0;
  for (const Diagnostic& d : plan.diagnostics) fallbacks += d.kind == DiagnosticKind::fallback ? 1 : 0;
  EXPECT_EQ(fallbacks, 1);
  EXPECT_THAT(to_text(plan.diagnostics), HasSubstr("an accelerator kernel would save up to"));
}

TEST(TransferBound, NamesTheLoopAndWhatItWaitsFor) {
  PlanOptions with = options();
  ASSERT_TRUE(with.diagnostics.parse("Wtransfer-bound"));
  const std::string text =
      to_text(plan_model("  - for: i in 10\n    do:\n      - w: matmul(f(s + i), w)\n  - print(\"w\", w)\n", with).diagnostics);
  EXPECT_THAT(text, HasSubstr("of the loop's time"));
  EXPECT_THAT(text, HasSubstr("[-Wtransfer-bound]"));
}

}  // namespace
}  // namespace cleave::testing
