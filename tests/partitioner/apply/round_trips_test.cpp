// Round trips: the search against an all-pairs transitive closure on random plans, and examples that are round trips or are not.
#include "partitioner/apply/round_trips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/invariant_work.h"
#include "partitioner/compile.h"
#include "partitioner/machine/value_uses.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

PlanOptions options(Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  return options;
}

/// A model with host functions f and g (pure) and h (an effect), all on f32[64, 64], and the input s where the program reads it.
Plan plan_with_functions(const std::string& program, const PlanOptions& with = options(), const std::string& head = "") {
  const std::string type = "\"f32[64, 64]\"";
  std::string text = "cleave: 1\nmodel: m\n" + head + "host_functions:\n";
  for (const char* name : {"f", "g", "h"}) {
    text += std::string("  ") + name + ": {library: ./l.so, symbol: s, takes: [" + type + "], returns: " + type +
            ", pure: " + (*name == 'h' ? "false" : "true") + "}\n";
  }
  if (program.find("(s)") != std::string::npos || program.find("(s ") != std::string::npos) text += "inputs:\n  s: " + type + "\n";
  text += "parameters:\n  w: {type: " + type + ", value: 1}\nprogram:\n" + program;
  const Plan result = plan(parse_model(text, "m.yaml"), with);
  EXPECT_TRUE(result.complete() && verify(result.program).empty()) << to_text(result.diagnostics);
  return result;
}

/// Round trips exactly by their definition, on matrices: for every pair of vertices, whether one reaches the other. Vertices are nodes,
/// followed by the values of aliases.
class ByClosure {
 public:
  ByClosure(const Graph& graph, const Placement& placement, const Transfers& transfers)
      : graph_(graph), placement_(placement), uses_(graph), n_(graph.nodes.size() + graph.values.size()) {
    for (const DeviceId device : {kHost, kAccelerator}) {
      reach_[device.index] = edges(device);
      close(reach_[device.index]);
    }
    direct_ = edges(kHost);
    std::vector<char> arrives(n_, 0);
    needed_.assign(n_, 0);
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const NodeId from = graph.values[ValueId(i)].producer;
      for (const ValueUse& use : uses_.of(ValueId(i))) {
        if (use.host_only() || use.decides()) continue;
        const bool moves_to_host = !placement.on_host[from.index] && placement.on_host[use.node.index];
        const bool moves_back = !placement.on_accelerator[from.index] && placement.on_accelerator[use.node.index];
        for (const std::size_t target : targets(use)) {
          if (moves_to_host) arrives[target] = 1;
          if (moves_back && works(target) && computed(vertex(ValueId(i)))) need(vertex(ValueId(i)));
        }
      }
    }
    EXPECT_TRUE(transfers.items.empty() || n_ > 0);
    while (propagate()) {
    }
    from_accelerator_.assign(n_, 0);
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t v = 0; arrives[a] && v < n_; ++v) from_accelerator_[v] = static_cast<char>(from_accelerator_[v] | reach_[0][a][v]);
    }
    path_.assign(n_, 0);
    for (std::size_t v = 0; v < n_; ++v) path_[v] = computed(v) && from_accelerator_[v] && needed_[v];
    arrives_ = std::move(arrives);
  }

  /// From now on, the search looks at host work that decisions of the accelerator start (except for work that loops repeat), instead of
  /// host work that reads its values.
  void look_at_started(const CostedProblem& costed) {
    std::set<NodeId> repeated;
    for (const InvariantWork& work : find_invariant_work(graph_, costed, placement_)) repeated.insert(work.nodes.begin(), work.nodes.end());
    std::vector<char> decisive(n_, 0);
    const auto hands_on = [&](std::size_t v) {
      if (v >= graph_.nodes.size() || on(NodeId(v), kAccelerator) || !graph_.nodes[NodeId(v)].op) return true;
      return costed.forced[v] == Cause::none || costed.forced[v] == Cause::cheaper || graph_.nodes[NodeId(v)].op->moves_to == Side::host;
    };
    for (std::size_t v = 0; v < n_; ++v) decisive[v] = computed(v) && arrives_[v] && hands_on(v);
    close_over(decisive, hands_on);
    starts_.assign(n_, 0);
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      const Node& node = graph_.nodes[NodeId(v)];
      if (node.kind != NodeKind::operation || on(NodeId(v), kAccelerator) || !needed_[v] || from_accelerator_[v]) continue;
      if (repeated.count(NodeId(v)) > 0) continue;
      for (RegionId region = node.region; region != Graph::kRoot && !starts_[v]; region = graph_.regions[region].parent) {
        const NodeId control = graph_.regions[region].owner;
        for (const ValueId decider : deciders(control)) {
          const NodeId producer = graph_.values[decider].producer;
          const bool given = !on(producer, kHost) || (computed(vertex(decider)) && decisive[vertex(decider)]);
          if (on(control, kHost) && given) starts_[v] = 1;
        }
      }
    }
    path_ = starts_;
    close_over(path_, [&](std::size_t v) {
      const bool reads = v < graph_.nodes.size() && !on(NodeId(v), kAccelerator) && from_accelerator_[v];
      return computed(v) && needed_[v] && !reads;
    });
  }

  /// Whether a decision starts the group, and whether its results reach accelerator work through data or decisions. In a loop this may
  /// still let the host run ahead.
  bool leads_back(const std::set<std::uint32_t>& group) const {
    std::set<std::size_t> found(group.begin(), group.end());
    std::vector<std::size_t> pending(group.begin(), group.end());
    while (!pending.empty()) {
      const std::size_t at = pending.back();
      pending.pop_back();
      for (std::size_t v = 0; v < n_; ++v)
        if (direct_[at][v] && on_path(v) && !member(v) && found.insert(v).second) pending.push_back(v);
    }
    for (const std::size_t v : found) {
      for (std::size_t i = 0; i < graph_.values.size(); ++i) {
        if (vertex(ValueId(i)) != v) continue;
        for (const ValueUse& use : uses_.of(ValueId(i))) {
          if (use.host_only()) continue;
          if (use.decides() && on(use.node, kHost) && matters(use.node)) return true;
          if (use.decides() || on(node_of(v), kAccelerator) || !on(use.node, kAccelerator)) continue;
          for (const std::size_t target : targets(use))
            if (works(target)) return true;
        }
      }
    }
    return false;
  }
  bool starts(const std::set<std::uint32_t>& group) const {
    return std::any_of(group.begin(), group.end(), [&](std::uint32_t v) { return starts_[v] != 0; });
  }
  /// Whether any member is inside a loop.
  bool in_a_loop(const std::set<std::uint32_t>& group) const {
    return std::any_of(group.begin(), group.end(), [&](std::uint32_t v) {
      for (RegionId region = graph_.nodes[NodeId(v)].region; region != Graph::kRoot; region = graph_.regions[region].parent)
        if (graph_.nodes[graph_.regions[region].owner].kind != NodeKind::branch) return true;
      return false;
    });
  }

  /// The groups, as sets of node numbers.
  std::set<std::set<std::uint32_t>> groups() const {
    std::set<std::set<std::uint32_t>> found;
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      if (!member(v)) continue;
      std::set<std::size_t> behind{v}, members{v};
      std::vector<std::size_t> pending{v};
      while (!pending.empty()) {
        const std::size_t at = pending.back();
        pending.pop_back();
        for (std::size_t u = 0; u < n_; ++u) {
          if (!direct_[u][at] || !on_path(u) || !behind.insert(u).second) continue;
          if (member(u)) members.insert(u);
          if (!member(u)) pending.push_back(u);
        }
      }
      std::set<std::uint32_t> joined(members.begin(), members.end());
      for (auto group = found.begin(); group != found.end();) {
        const bool meets = std::any_of(group->begin(), group->end(), [&](std::uint32_t u) { return joined.count(u) > 0; });
        if (meets) joined.insert(group->begin(), group->end());
        group = meets ? found.erase(group) : std::next(group);
      }
      found.insert(joined);
    }
    return found;
  }

 private:
  using Matrix = std::vector<std::vector<char>>;

  [[nodiscard]] bool on(NodeId node, DeviceId device) const { return placement_.has_copy(node.index, device); }
  [[nodiscard]] std::size_t vertex(ValueId value) const {
    const NodeId producer = graph_.values[value].producer;
    return graph_.nodes[producer].kind == NodeKind::operation ? producer.index : graph_.nodes.size() + value.index;
  }
  [[nodiscard]] NodeId node_of(std::size_t v) const {
    return v < graph_.nodes.size() ? NodeId(v) : graph_.values[ValueId(v - graph_.nodes.size())].producer;
  }
  /// Whether the vertex is an operation or an alias, and on the host.
  [[nodiscard]] bool computed(std::size_t v) const {
    const NodeKind kind = graph_.nodes[node_of(v)].kind;
    return (kind == NodeKind::operation || kind == NodeKind::carried || kind == NodeKind::merge) && on(node_of(v), kHost);
  }
  [[nodiscard]] bool member(std::size_t v) const {
    return v < graph_.nodes.size() && graph_.nodes[NodeId(v)].kind == NodeKind::operation && !on(NodeId(v), kAccelerator) && on_path(v);
  }
  [[nodiscard]] bool on_path(std::size_t v) const { return path_[v] != 0; }
  [[nodiscard]] std::vector<ValueId> deciders(NodeId control) const {
    std::vector<ValueId> found = graph_.nodes[control].inputs;
    for (const RegionId region : graph_.nodes[control].regions)
      if (graph_.regions[region].predicate) found.push_back(graph_.regions[region].predicate);
    return found;
  }
  template <class May>
  void close_over(std::vector<char>& marks, May&& may) const {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t u = 0; u < n_; ++u) {
        for (std::size_t v = 0; marks[u] && v < n_; ++v) {
          if (!direct_[u][v] || marks[v] || !may(v)) continue;
          marks[v] = 1;
          more = true;
        }
      }
    }
  }

  std::vector<std::size_t> targets(const ValueUse& use) const {
    const Node& reader = graph_.nodes[use.node];
    if (use.kind == UseKind::operand) return {use.node.index};
    if (reader.kind == NodeKind::merge) return {vertex(reader.results[0])};
    const Node& loop = graph_.nodes[reader.owner];
    const bool trips_for_sure = loop.kind == NodeKind::for_loop && loop.inputs.empty() && loop.attributes.get<std::int64_t>("count") > 0;
    if (use.kind == UseKind::initial && trips_for_sure) return {vertex(reader.results[0])};
    return {vertex(reader.results[0]), vertex(reader.results[1])};
  }

  Matrix edges(DeviceId device) const {
    Matrix matrix(n_, std::vector<char>(n_, 0));
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const NodeId from = graph_.values[ValueId(i)].producer;
      const NodeKind kind = graph_.nodes[from].kind;
      if (kind != NodeKind::operation && kind != NodeKind::carried && kind != NodeKind::merge) continue;
      for (const ValueUse& use : uses_.of(ValueId(i))) {
        if (use.host_only() || use.decides() || !on(from, device) || !on(use.node, device)) continue;
        for (const std::size_t target : targets(use)) matrix[vertex(ValueId(i))][target] = 1;
      }
    }
    return matrix;
  }
  void close(Matrix& reach) const {
    for (std::size_t i = 0; i < n_; ++i) reach[i][i] = 1;
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; reach[i][k] && j < n_; ++j) reach[i][j] = static_cast<char>(reach[i][j] | reach[k][j]);
      }
    }
  }

  /// Whether a vertex is accelerator work: an operation that is computed there from values that only the accelerator computes.
  [[nodiscard]] bool works(std::size_t v) const {
    if (!on(node_of(v), kAccelerator)) return false;
    for (std::size_t w = 0; w < graph_.nodes.size(); ++w) {
      const bool only_there = graph_.nodes[NodeId(w)].kind == NodeKind::operation && on(NodeId(w), kAccelerator) && !on(NodeId(w), kHost);
      if (only_there && reach_[1][v][w]) return true;
    }
    return false;
  }
  bool need(std::size_t v) {
    bool more = false;
    for (std::size_t u = 0; u < n_; ++u) {
      if (!computed(u) || !reach_[0][u][v] || needed_[u]) continue;
      needed_[u] = 1;
      more = true;
    }
    return more;
  }
  /// Whether the operations that `control` decides are accelerator work, or are needed by it.
  [[nodiscard]] bool matters(NodeId control) const {
    for (std::size_t v = 0; v < n_; ++v) {
      const Node& node = graph_.nodes[node_of(v)];
      if (is_control(node.kind)) continue;
      const bool inside = std::any_of(graph_.nodes[control].regions.begin(), graph_.nodes[control].regions.end(),
                                      [&](RegionId region) { return graph_.within(node.region, region); });
      if (!inside && !(node.kind == NodeKind::merge && node.owner == control)) continue;
      const bool structural = node.kind != NodeKind::operation && node.kind != NodeKind::carried && node.kind != NodeKind::merge;
      if (structural || (node.kind != NodeKind::operation && v < graph_.nodes.size())) continue;
      if (works(v) || (computed(v) && needed_[v])) return true;
    }
    return false;
  }
  bool propagate() {
    bool more = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id(i);
      const Node& node = graph_.nodes[id];
      const auto effect = [&](NodeId e) { return graph_.nodes[e].host_function() && graph_.purity(e) == Purity::effect; };
      if (effect(id) && needed_[i]) {
        for (std::size_t j = 0; j < graph_.nodes.size(); ++j) {
          if (effect(NodeId(j)) && comes_before(NodeId(j), id)) more |= need(j);
        }
      }
      if (!is_control(node.kind) || !matters(id)) continue;
      for (const ValueId decider : deciders(id)) more |= computed(vertex(decider)) && need(vertex(decider));
    }
    return more;
  }
  /// In program order, or in the previous iteration.
  [[nodiscard]] bool comes_before(NodeId a, NodeId b) const {
    if (uses_.begin(a) < uses_.begin(b)) return true;
    for (RegionId region = graph_.nodes[b].region; region != Graph::kRoot; region = graph_.regions[region].parent) {
      const NodeId owner = graph_.regions[region].owner;
      if (graph_.nodes[owner].kind != NodeKind::branch && uses_.begin(a) > uses_.begin(owner) && uses_.begin(a) < uses_.end(owner))
        return true;
    }
    return false;
  }

  const Graph& graph_;
  const Placement& placement_;
  const ValueUses uses_;
  const std::size_t n_;
  Matrix reach_[2], direct_;
  std::vector<char> from_accelerator_, needed_, arrives_, path_, starts_;
};

TEST(RoundTrips, GroupsEqualTheClosure) {
  std::size_t found = 0, found_started = 0;
  for (std::uint64_t seed = 0; seed < draws(250U); ++seed) {
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
    std::set<std::set<std::uint32_t>> groups, started;
    const HostFlow flow(graph, *costed.uses, placement, transfers);
    for (const RoundTrip& trip : find_round_trips(graph, costed, placement, transfers, flow)) {
      EXPECT_FALSE(trip.out.empty());
      EXPECT_TRUE(graph.within(graph.nodes[trip.blamed].region, trip.region));
      const auto inside = [&](std::size_t t) { return graph.within(transfers.items[t].region, trip.region); };
      EXPECT_TRUE(!trip.starts.empty() || std::any_of(trip.out.begin(), trip.out.end(), inside)) << "each execution sends something";
      EXPECT_FALSE(trip.via == Via::data && trip.back.empty());
      EXPECT_FALSE(trip.via == Via::control && trip.controls.empty() && trip.starts.empty());
      if (graph.nodes[trip.through[0]].kind != NodeKind::operation) continue;  // an alias on the host, which computes nothing
      std::set<std::uint32_t> members;
      for (NodeId node : trip.through) members.insert(node.index);
      EXPECT_TRUE((trip.starts.empty() ? groups : started).insert(members).second);
    }
    ByClosure closure(graph, placement, transfers);
    ASSERT_EQ(groups, closure.groups());
    found += groups.size();
    closure.look_at_started(costed);
    std::set<std::set<std::uint32_t>> possible;
    for (const std::set<std::uint32_t>& group : closure.groups()) {
      if (!closure.starts(group) || !closure.leads_back(group)) continue;
      possible.insert(group);
      if (!closure.in_a_loop(group)) {
        EXPECT_TRUE(started.count(group) > 0) << "only a loop lets the host run ahead";
      }
    }
    for (const std::set<std::uint32_t>& group : started) EXPECT_TRUE(possible.count(group) > 0);
    found_started += started.size();
  }
  EXPECT_GT(found, draws(200u));
  EXPECT_GT(found_started, draws(20u));
}

TEST(RoundTrips, OneHostComputationIsOneHoweverOftenItIsUsed) {
  const Plan plan = plan_with_functions(
      "  - for: i in 10\n    do:\n      - a: matmul(w, w)\n      - r: f(a) + f(a + 1)\n      - w: matmul(r, a) + r\n  - print(\"w\", w)\n");
  EXPECT_EQ(plan.round_trips.size(), 2u) << "two calls, not joined by host work";
  const Plan once = plan_with_functions(
      "  - for: i in 10\n    do:\n      - a: matmul(w, w)\n      - r: f(a)\n      - w: matmul(r, a) + r * r - r\n  - print(\"w\", w)\n");
  EXPECT_EQ(once.round_trips.size(), 1u);
}

TEST(RoundTrips, ChainedHostFunctionsAreOne) {
  const Plan plan = plan_with_functions("  - for: i in 10\n    do:\n      - w: matmul(g(f(matmul(w, w))), w)\n  - print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].through.size(), 2u);
}

TEST(RoundTrips, AnAcceleratorPredicateJoinsNothing) {
  const Plan plan = plan_with_functions(
      "  - while: sum(w) < 1e9\n    do:\n      - a: f(matmul(w, w))\n      - b: g(matmul(w, w))\n      - w: matmul(a, b)\n  - print(\"w\", "
      "w)\n");
  ASSERT_EQ(plan.round_trips.size(), 2u);
  for (const RoundTrip& trip : plan.round_trips) EXPECT_EQ(trip.out.size(), 1u) << "its own value, not the predicate";
}

TEST(RoundTrips, ThroughACarriedValue) {
  // The host's result for one iteration's values is sent in the next.
  const Plan plan =
      plan_with_functions("  - r: f(s)\n  - for: i in 10\n    do:\n      - w: matmul(r, w)\n      - r: f(w)\n  - print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].frequency, 10);
  EXPECT_EQ(plan.round_trips[0].via, Via::data);
}

TEST(RoundTrips, AHostLoopBetweenTwoTransfersIsOneForAllItsIterations) {
  const Plan plan = plan_with_functions(
      "  - for: i in 10\n    do:\n      - a: matmul(w, w)\n      - for: j in 100\n        do:\n          - a: f(a)\n      - w: matmul(a, "
      "w)\n"
      "  - print(\"w\", w)\n");
  ASSERT_EQ(plan.round_trips.size(), 1u);
  EXPECT_EQ(plan.round_trips[0].frequency, 10);
  EXPECT_THAT(to_text(plan.diagnostics), HasSubstr("10 times a run: 160 KiB out, 160 KiB back"));
}

TEST(RoundTrips, HostDataAndPrintsAreNone) {
  const Plan plan = plan_with_functions(
      "  - rate: f(s)\n  - for: i in 10\n    do:\n      - rate: g(rate)\n      - w: matmul(w, rate)\n      - print(\"largest\", max(w))\n"
      "      - if: i % 3 == 0\n        then:\n          - h(w)\n");
  EXPECT_TRUE(plan.round_trips.empty());
  EXPECT_TRUE(plan.diagnostics.empty()) << to_text(plan.diagnostics);
}

// --- started by a decision of the accelerator --------------------------------------------------------------------------

struct Started {
  const char* what;
  std::string program;
  std::size_t trips;
};

class HostWorkBehindADecision : public ::testing::TestWithParam<Started> {};

TEST_P(HostWorkBehindADecision, IsARoundTripWhereTheAcceleratorWaitsForIt) {
  const Plan plan = plan_with_functions(GetParam().program);
  EXPECT_EQ(plan.round_trips.size(), GetParam().trips) << to_text(plan.diagnostics);
  for (const RoundTrip& trip : plan.round_trips) {
    EXPECT_EQ(trip.via, Via::control);
    EXPECT_EQ(trip.starts.size(), 1U);
    EXPECT_TRUE(trip.warned());
  }
}

const char* const kInAnArm =
    "  - for: i in 10\n    do:\n      - q: any(w > 7.5)\n      - if: q\n        then:\n          - w: matmul(w, f(s))\n  - print(\"w\", "
    "w)\n";

INSTANTIATE_TEST_SUITE_P(
    RoundTrips, HostWorkBehindADecision,
    ::testing::Values(
        Started{"InAnArm", kInAnArm, 1},
        Started{"InAWhile", "  - while: max(w) > 0.5\n    do:\n      - w: matmul(w, h(s))\n  - print(\"w\", w)\n", 1},
        Started{"UntilTheAcceleratorSaysSo",
                "  - for: i in 10\n    until: max(w) > 0.5\n    do:\n      - w: matmul(w, h(s))\n  - print(\"w\", w)\n", 1},
        Started{"RepeatedByALoop",  // it could be hoisted, which is another message
                "  - while: max(w) > 0.5\n    do:\n      - w: matmul(w, f(s))\n  - print(\"w\", w)\n", 0},
        Started{"ReadInEachTripOfALoop",  // the host runs ahead
                "  - if: any(w > 7.5)\n    then:\n      - for: i in 10\n        do:\n          - w: matmul(w, h(s))\n  - print(\"w\", w)\n",
                0},
        Started{"ReadBehindALoop",
                "  - r: f(s)\n  - if: any(w > 7.5)\n    then:\n      - for: i in 10\n        do:\n          - r: f(r)\n      - w: "
                "matmul(w, r)\n  "
                "- print(\"w\", w)\n",
                1},
        Started{"CountedByTheAccelerator",  // only the first iteration waits for the trip count
                "  - for: i in astype(sum(w), i32)\n    do:\n      - w: matmul(w, h(s))\n  - print(\"w\", w)\n", 0},
        Started{
            "ReadByTheHostAlone",
            "  - for: i in 10\n    do:\n      - w: matmul(w, w)\n      - if: any(w > 7.5)\n        then:\n          - print(\"f\", f(s))\n"
            "  - print(\"w\", w)\n",
            0},
        Started{
            "DecidedFromHostData",
            "  - for: i in 10\n    do:\n      - if: max(f(s)) > 7.5\n        place: host\n        then:\n          - w: matmul(w, g(s))\n"
            "  - print(\"w\", w)\n",
            0}),
    [](const auto& started) { return started.param.what; });

TEST(HostWorkBehindADecision, IsToldWithTheDecisionThatStartsIt) {
  const Plan plan = plan_with_functions(kInAnArm);
  ASSERT_EQ(plan.round_trips.size(), 1U);
  const RoundTrip& trip = plan.round_trips[0];
  EXPECT_EQ(trip.frequency, 5);
  EXPECT_EQ(trip.out_bytes, 10);
  EXPECT_EQ(trip.back_bytes, 5 * 64 * 64 * 4);
  ASSERT_EQ(plan.diagnostics.size(), 1U) << to_text(plan.diagnostics);
  const Diagnostic& d = *plan.diagnostics.begin();
  EXPECT_EQ(d.message, "`f` makes the accelerator wait for the host in every iteration that takes this branch");
  ASSERT_GE(d.notes.size(), 3U);
  EXPECT_EQ(d.notes[0].message, "`q` (bool[], 1 B) leaves the accelerator here");
  EXPECT_EQ(d.notes[1].message, "the accelerator's decision starts the work of the host here (through the branch)");
  EXPECT_EQ(d.notes[2].message, "accelerator work depends on the result here");
  EXPECT_EQ(d.price->cause, "no-kernel/control");
}

/// The accelerator has other work until it needs the result of the started host work.
TEST(HostWorkBehindADecision, IsNotToldWhereOtherWorkHidesIt) {
  for (const bool other_work : {false, true}) {
    const std::string between = other_work ? "      - c: matmul(c, c)\n      - c: matmul(c, c)\n      - c: matmul(c, c)\n" : "";
    const Plan plan = planner::plan(
        parse_model("cleave: 1\nmodel: m\nhost_functions:\n  f: {library: l.so, takes: [], returns: \"f32[8]\", seconds: 1.0e-4}\n"
                    "parameters:\n  w: {type: \"f32[8]\", value: 1}\n  c: {type: \"f32[2048, 2048]\", value: 0.001}\nprogram:\n"
                    "  - for: i in 10\n    do:\n      - r: w\n      - q: any(w > 7.5)\n" +
                        between + "      - if: q\n        then:\n          - r: f()\n      - w: w + sum(c) * r\noutputs: [w, c]\n",
                    "m.yaml"),
        options());
    ASSERT_EQ(plan.round_trips.size(), 1U);
    EXPECT_EQ(plan.round_trips[0].hidden, other_work);
    EXPECT_EQ(plan.round_trips[0].warned(), !other_work);
    EXPECT_EQ(plan.diagnostics.size(), other_work ? 0U : 1U) << to_text(plan.diagnostics);
  }
}

TEST(HostWorkBehindADecision, IsSilencedByMarksAndAllowances) {
  std::string marked = kInAnArm, returned = kInAnArm;
  marked.replace(marked.find("if: q"), 5, "if: to_host(q)");
  returned.replace(returned.find("f(s)"), 4, "to_accelerator(f(s))");
  for (const std::string& program : {marked, returned}) {
    const Plan plan = plan_with_functions(program);
    ASSERT_EQ(plan.round_trips.size(), 1U);
    EXPECT_TRUE(plan.round_trips[0].meant);
    EXPECT_TRUE(plan.diagnostics.empty()) << to_text(plan.diagnostics);
  }
  std::string allowed = kInAnArm;
  allowed.replace(allowed.find("          - w: matmul(w, f(s))\n"), 31,
                  "          - w: matmul(w, f(s))\n            allow: {round-trip: known}\n");
  const Plan plan = plan_with_functions(allowed);
  ASSERT_EQ(plan.diagnostics.size(), 1U);
  EXPECT_EQ(plan.diagnostics.begin()->severity, Severity::allowed);
}

// --- messages --------------------------------------------------------------------------------------------------------

const char* const kOneTrip = "  - for: i in 10\n    do:\n      - w: matmul(f(matmul(w, w)), w)\n  - print(\"w\", w)\n";

TEST(RoundTripDiagnostics, AllowedOnesKeepTheirReason) {
  const Plan plan = plan_with_functions(
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
  EXPECT_TRUE(plan_with_functions(kOneTrip, silent).diagnostics.empty());
  EXPECT_EQ(plan_with_functions(kOneTrip, silent).round_trips.size(), 1u);
  EXPECT_FALSE(plan_with_functions(kOneTrip, strict).ok());
}

TEST(RoundTripDiagnostics, WithoutSourceTheySayTheSame) {
  const Plan plan = plan_with_functions(kOneTrip);
  ASSERT_EQ(plan.diagnostics.size(), 1u);
  const Diagnostic& d = *plan.diagnostics.begin();
  EXPECT_EQ(d.message, "`f` makes the accelerator wait for the host in every iteration");
  EXPECT_THAT(to_text(d), HasSubstr("runs on the host because it is a host function"));
  EXPECT_THAT(to_text(d), HasSubstr("machine `simulated`, assumed"));
}

TEST(Limits, AreErrorsWithWhatExceedsThem) {
  const Plan plan = plan_with_functions(kOneTrip, options(), "limits: {round_trips: 0, transfers: 1, bytes_per_run: 1KiB}\n");
  EXPECT_FALSE(plan.ok());
  EXPECT_TRUE(plan.complete());
  int limits = 0;
  for (const Diagnostic& d : plan.diagnostics) limits += d.kind == DiagnosticKind::limit ? 1 : 0;
  EXPECT_EQ(limits, 3);
  EXPECT_TRUE(plan_with_functions(kOneTrip, options(), "limits: {round_trips: 1, transfers: 100, bytes_per_run: 64MiB}\n").ok());
}

TEST(ImplicitCopies, NameUnmarkedSendsInTheWantedDirection) {
  PlanOptions with = options();
  ASSERT_TRUE(with.diagnostics.parse("Wno-round-trip"));
  ASSERT_TRUE(with.diagnostics.parse("Wimplicit-copy"));
  EXPECT_EQ(plan_with_functions(kOneTrip, with).diagnostics.size(), 3u) << to_text(plan_with_functions(kOneTrip, with).diagnostics);
  ASSERT_TRUE(with.diagnostics.parse("Wimplicit-copy=to-accelerator"));
  EXPECT_EQ(plan_with_functions(kOneTrip, with).diagnostics.size(), 1u);
}

TEST(Fallbacks, NameOpsWithoutAKernel) {
  PlanOptions with = options();
  with.costs.supported = [](const Graph& graph, NodeId node) { return graph.op_name(node) != "exp"; };
  ASSERT_TRUE(with.diagnostics.parse("Wfallback"));
  const Plan plan = plan_with_functions("  - for: i in 10\n    do:\n      - w: exp(matmul(w, w))\n  - print(\"w\", w)\n", with);
  int fallbacks = 0;
  for (const Diagnostic& d : plan.diagnostics) fallbacks += d.kind == DiagnosticKind::fallback ? 1 : 0;
  EXPECT_EQ(fallbacks, 1);
  EXPECT_THAT(to_text(plan.diagnostics), HasSubstr("an accelerator kernel would save about"));
}

TEST(TransferBound, NamesTheLoopAndWhatItWaitsFor) {
  PlanOptions with = options();
  ASSERT_TRUE(with.diagnostics.parse("Wtransfer-bound"));
  const std::string text =
      to_text(plan_with_functions("  - for: i in 10\n    do:\n      - w: matmul(f(s + i), w)\n  - print(\"w\", w)\n", with).diagnostics);
  EXPECT_THAT(text, HasSubstr("of the loop's time"));
  EXPECT_THAT(text, HasSubstr("[-Wtransfer-bound]"));
}

}  // namespace
}  // namespace cleave::testing
