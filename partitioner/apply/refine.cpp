#include "partitioner/apply/refine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitioner/solver/criticality.h"

namespace cleave::planner {
namespace {

using Pin = PlacementProblem::Pin;
using Sides = std::vector<std::uint8_t>;

/// Uncritical work gets a low weight, but never zero: it would be copied and sent needlessly.
constexpr double kLeastWeight = 0.02;
constexpr double kWorthwhile = 1e-9;  ///< relative; smaller gains are rounding errors
constexpr int kFewCandidates = 8;     ///< tried whatever the size of the graph
constexpr std::size_t kMostPieces = 16;

/// Searches for faster placements and keeps the best one found so far.
class Refiner {
 public:
  Refiner(const PlannedGraph& planned, WorkedOutPlan optimal, const RefineOptions& options)
      : planned_(planned),
        problem_(planned.costed.problem),
        options_(options),
        uses_(problem_),
        bound_(optimal.placement.bound_seconds),
        best_(std::move(optimal)),
        left_(std::max<int>(kFewCandidates, static_cast<int>(options.max_work / static_cast<double>(problem_.nodes.size())))) {}

  WorkedOutPlan run(const std::vector<Placement>& baselines) {
    const Placement start = best_.placement;
    for (const Placement& baseline : baselines) offer(baseline.on_host, baseline.on_accelerator);
    cut_again(start, false);
    cut_again(start, true);
    while (left_ > 0 && (move_pieces() || move_at_the_cut())) {
    }
    if (!found_) return std::move(best_);
    best_.placement.bound_seconds = bound_;
    const double over = best_.placement.objective_seconds - bound_;
    best_.placement.gap = over > kWorthwhile * best_.placement.objective_seconds ? over / best_.placement.objective_seconds : 0;
    return std::move(best_);
  }

 private:
  bool offer(Sides host, Sides accelerator) {
    Placement placement = evaluate(problem_, std::move(host), std::move(accelerator));
    if (placement.on_host == best_.placement.on_host && placement.on_accelerator == best_.placement.on_accelerator) return false;
    if (!verify(problem_, placement).empty()) return false;
    WorkedOutPlan candidate = work_out(planned_, std::move(placement));
    if (candidate.schedule.seconds >= best_.schedule.seconds * (1 - kWorthwhile)) return false;
    if (options_.fits && !options_.fits(candidate.program)) return false;
    best_ = std::move(candidate);
    return found_ = true;
  }

  /// Solves again with weighted costs, round after round. The weight of a busy resource grows from round to round, as in
  /// multiplicative-weights algorithms; if `by_slack`, only for critical work.
  void cut_again(const Placement& start, bool by_slack) {
    double price[4] = {1, 1, 1, 1};
    Placement current = start;
    for (int round = 0; round < options_.rounds; ++round) {
      const Criticality now = find_criticality(problem_, uses_, current);
      const double most = *std::max_element(now.busy, now.busy + 4);
      if (most <= 0) return;
      for (std::size_t r = 0; r < 4; ++r) price[r] *= std::exp(0.7 * (now.busy[r] / most - 1));
      const double dearest = *std::max_element(price, price + 4);
      for (double& p : price) p = std::max(p / dearest, kLeastWeight);
      Result<Placement> next = solve(weighted(now, price, by_slack), {});
      if (!next) return;
      if (next->on_host == current.on_host && next->on_accelerator == current.on_accelerator) continue;
      current = evaluate(problem_, next->on_host, next->on_accelerator);
      offer(next->on_host, next->on_accelerator);
    }
  }

  [[nodiscard]] PlacementProblem weighted(const Criticality& now, const double* price, bool by_slack) const {
    PlacementProblem problem = problem_;
    problem.accelerator_memory_bytes = 0;  // offer() checks memory
    auto weight = [&](double criticality, std::size_t resource) {
      if (!by_slack) return price[resource];
      // Work that is on the other side now is assumed to be as critical as the average work of this resource.
      if (criticality < 0) criticality = now.mean[resource];
      return std::max(price[resource] * criticality * criticality, kLeastWeight);
    };
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      problem.nodes[i].host_seconds *= weight(now.node[0][i], 0);
      problem.nodes[i].accelerator_seconds *= weight(now.node[1][i], 1);
    }
    for (auto& saving : problem.savings) {
      saving.host_seconds *= weight(now.node[0][saving.node], 0);
      saving.accelerator_seconds *= weight(now.node[1][saving.node], 1);
    }
    for (std::size_t v = 0; v < problem.values.size(); ++v) {
      problem.values[v].accelerator_to_host_seconds *= weight(now.value[0][v], 2);
      problem.values[v].host_to_accelerator_seconds *= weight(now.value[1][v], 3);
    }
    return problem;
  }

  [[nodiscard]] bool movable(std::size_t node) const {
    const auto& n = problem_.nodes[node];
    return n.pin == Pin::none && !n.keep_accelerator_copy;
  }
  [[nodiscard]] bool alone_on(std::size_t node, bool accelerator) const {
    const Placement& p = best_.placement;
    return p.has_copy(node, accelerator ? kAccelerator : kHost) && !p.has_copy(node, accelerator ? kHost : kAccelerator);
  }

  /// Moves nodes, with all of their groups, to one side. Counters and literals cost nothing, so they get copies where they are read.
  bool offer_move(const std::vector<std::int32_t>& nodes, bool to_accelerator) {
    --left_;
    Sides host = best_.placement.on_host, accelerator = best_.placement.on_accelerator;
    auto put = [&](std::size_t node) {
      host[node] = to_accelerator ? 0 : 1;
      accelerator[node] = to_accelerator ? 1 : 0;
    };
    for (const std::int32_t node : nodes) {
      const std::int32_t group = problem_.nodes[node].group;
      put(node);
      for (std::size_t i = 0; group != PlacementProblem::kNoGroup && i < problem_.nodes.size(); ++i) {
        if (problem_.nodes[i].group == group) put(i);
      }
    }
    free_copies(host, accelerator);
    return offer(std::move(host), std::move(accelerator));
  }

  void free_copies(Sides& host, Sides& accelerator) const {
    const std::size_t count = problem_.nodes.size();
    Sides reads(count, 0), wanted[2] = {Sides(count, 0), Sides(count, 0)};
    for (const auto& use : problem_.uses) {
      reads[use.node] = 1;
      const std::int32_t producer = problem_.values[use.value].node;
      if (host[use.node]) wanted[0][producer] = 1;
      if (accelerator[use.node]) wanted[1][producer] = 1;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto& node = problem_.nodes[i];
      const bool free = node.host_seconds <= 0 && node.accelerator_seconds <= 0;
      if (reads[i] || !free || !node.replicable || !movable(i) || node.group != PlacementProblem::kNoGroup) continue;
      if (!wanted[0][i] && !wanted[1][i]) continue;
      host[i] = wanted[0][i];
      accelerator[i] = wanted[1][i];
    }
  }

  /// Moves connected sets of nodes, such as one tower of a network, of which no single node is worth moving.
  bool move_pieces() {
    bool any = false;
    for (const bool on_accelerator : {true, false}) {
      for (const std::vector<std::int32_t>& piece : pieces(on_accelerator)) {
        if (left_ <= 0) return any;
        if (offer_move(piece, !on_accelerator)) {
          any = true;
          break;  // the pieces have changed
        }
      }
    }
    return any;
  }

  /// The heaviest connected sets of movable nodes on one side, heaviest first. They include the heaviest of all, which may be the only one.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> pieces(bool on_accelerator) const {
    const std::size_t count = problem_.nodes.size();
    std::vector<std::int32_t> parent(count);
    std::iota(parent.begin(), parent.end(), 0);
    auto find = [&](std::int32_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    auto belongs = [&](std::size_t node) { return movable(node) && alone_on(node, on_accelerator); };
    for (const auto& use : problem_.uses) {
      const std::int32_t producer = problem_.values[use.value].node;
      if (!belongs(producer) || !belongs(use.node)) continue;
      const std::int32_t a = find(producer), b = find(use.node);
      parent[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::vector<std::int32_t>> members(count);
    std::vector<double> work(count, 0);
    std::vector<std::int32_t> roots;
    for (std::size_t i = 0; i < count; ++i) {
      if (!belongs(i)) continue;
      const std::int32_t root = find(static_cast<std::int32_t>(i));
      if (members[root].empty()) roots.push_back(root);
      members[root].push_back(static_cast<std::int32_t>(i));
      const auto& node = problem_.nodes[i];
      work[root] += problem_.regions[node.region].frequency * (on_accelerator ? node.accelerator_seconds : node.host_seconds);
    }
    std::stable_sort(roots.begin(), roots.end(), [&](std::int32_t a, std::int32_t b) { return work[a] > work[b]; });
    roots.resize(std::min(roots.size(), kMostPieces));
    std::vector<std::vector<std::int32_t>> result;
    for (const std::int32_t root : roots) {
      if (work[root] > 0) result.push_back(std::move(members[root]));
    }
    return result;
  }

  /// Tries to move each producer and each reader of a transferred value, once and in program order.
  bool move_at_the_cut() {
    bool any = false;
    Sides at_cut(problem_.nodes.size(), 0);
    for (const PlannedTransfer& t : best_.placement.transfers) {
      at_cut[problem_.values[t.value].node] = 1;
      for (std::int32_t u = uses_.start[t.value]; u < uses_.start[t.value + 1]; ++u) at_cut[problem_.uses[uses_.order[u]].node] = 1;
    }
    for (std::size_t i = 0; i < at_cut.size() && left_ > 0; ++i) {
      if (!at_cut[i] || !movable(i)) continue;
      if (best_.placement.has_copy(i, kHost) && best_.placement.has_copy(i, kAccelerator)) continue;
      any |= offer_move({static_cast<std::int32_t>(i)}, !best_.placement.has_copy(i, kAccelerator));
    }
    return any;
  }

  const PlannedGraph& planned_;
  const PlacementProblem& problem_;
  const RefineOptions& options_;
  const UsesByValue uses_;
  const double bound_;
  WorkedOutPlan best_;
  bool found_ = false;  ///< a placement better than the minimum cut was found
  int left_;            ///< moves left to try
};

}  // namespace

WorkedOutPlan refine(const PlannedGraph& planned, WorkedOutPlan optimal, const std::vector<Placement>& baselines,
                     const RefineOptions& options) {
  return Refiner(planned, std::move(optimal), options).run(baselines);
}

}  // namespace cleave::planner
