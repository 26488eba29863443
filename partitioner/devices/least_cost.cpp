// Local search from several starts: expansion moves to every device, swaps between pairs of devices, until no move improves; then kicks
// move one class elsewhere and search again from there.
#include "partitioner/devices/least_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "graph/base/exceptions.h"
#include "graph/base/units.h"
#include "partitioner/devices/device_move.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kManyNodes = 5'000;  ///< beyond that one start must do

struct Candidate {
  std::vector<DeviceSet> on;  ///< per class
  double seconds = DeviceProblem::kNever;
};

class CostSearcher {
 public:
  CostSearcher(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses, const CostSearch& options)
      : problem_(problem), classes_(classes), uses_(uses), options_(options), equal_(problem.equal_accelerators()) {}

  /// The best placement found; nothing if none fits.
  std::optional<Candidate> run(double bound);

 private:
  [[nodiscard]] double seconds(const std::vector<DeviceSet>& on) const { return cost_of_devices(problem_, uses_, classes_.per_node(on)); }
  std::vector<std::vector<DeviceSet>> starts();
  std::optional<std::vector<DeviceSet>> with_one(std::size_t accelerator);
  [[nodiscard]] std::vector<DeviceSet> cheapest() const;
  [[nodiscard]] std::optional<std::vector<DeviceSet>> filled() const;
  void improve(Candidate& candidate);
  bool accept(const MoveOptions& options, Candidate& candidate);
  [[nodiscard]] std::vector<std::uint8_t> near_changes(const std::vector<std::int64_t>& changed, std::int64_t since) const;
  void drop_copies(Candidate& candidate) const;
  void kick();
  void remember(const Candidate& candidate) {
    if (candidate.seconds < best_.seconds) best_ = candidate;
  }
  [[nodiscard]] bool out_of_work() const { return work_ >= options_.max_work; }
  [[nodiscard]] bool optimal(double bound) const { return best_.seconds <= bound * (1 + 1e-9); }

  const DeviceProblem& problem_;
  const DeviceClasses& classes_;
  const UsesByValue& uses_;
  const CostSearch& options_;
  const bool equal_;
  Candidate best_;
  double work_ = 0;
};

/// The exact cut with one accelerator, in which classes that only another accelerator can run have no place: nothing then.
std::optional<std::vector<DeviceSet>> CostSearcher::with_one(std::size_t accelerator) {
  const PlacementProblem one = problem_.with_one(accelerator);
  for (std::size_t c = 0; c < classes_.size(); ++c)
    if (!classes_.allowed[c].has(std::size_t{0}) && !classes_.allowed[c].has(accelerator + 1)) return std::nullopt;
  const Result<Placement> placed = planner::solve(one, {.max_branches = 100, .max_work = 3e7});
  if (!placed) return std::nullopt;
  std::vector<DeviceSet> on(classes_.size());
  for (std::size_t c = 0; c < on.size(); ++c) {
    const auto node = static_cast<std::size_t>(classes_.nodes[c].front());
    if (placed->on_host[node]) on[c] = on[c] | DeviceSet::only(0);
    if (placed->on_accelerator[node]) on[c] = on[c] | DeviceSet::only(accelerator + 1);
    if (!on[c].without(classes_.allowed[c]).empty()) on[c] = on[c] & classes_.allowed[c];
    if (on[c].empty()) return std::nullopt;
  }
  return on;
}

/// Each class on the device on which it takes the fewest seconds.
std::vector<DeviceSet> CostSearcher::cheapest() const {
  std::vector<DeviceSet> on(classes_.size());
  for (std::size_t c = 0; c < on.size(); ++c) {
    double least = DeviceProblem::kNever;
    for_each_device(classes_.allowed[c], [&](std::size_t device) {
      double sum = 0;
      for (const std::int32_t node : classes_.nodes[c])
        sum += problem_.base.regions[problem_.base.nodes[node].region].frequency * problem_.seconds(node, device);
      if (sum >= least) return;
      least = sum;
      on[c] = DeviceSet::only(device);
    });
  }
  return on;
}

/// The classes in their order fill one accelerator after the other; what fits nowhere is on the host.
std::optional<std::vector<DeviceSet>> CostSearcher::filled() const {
  std::vector<double> room(problem_.devices(), DeviceProblem::kNever);
  for (std::size_t i = 1; i < room.size(); ++i)
    if (problem_.accelerators[i - 1].memory_bytes > 0) room[i] = problem_.accelerators[i - 1].memory_bytes;
  std::vector<DeviceSet> on(classes_.size());
  const auto place = [&](std::size_t c, std::size_t device) {
    if (!classes_.allowed[c].has(device) || (device > 0 && classes_.bytes[c] > room[device])) return false;
    if (device > 0) room[device] -= classes_.bytes[c];
    on[c] = DeviceSet::only(device);
    return true;
  };
  // The classes that cannot be on the host come first, the largest of them before the others.
  std::vector<std::size_t> order(classes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool bound_a = !classes_.allowed[a].has(std::size_t{0}), bound_b = !classes_.allowed[b].has(std::size_t{0});
    return bound_a != bound_b ? bound_a : bound_a && classes_.bytes[a] > classes_.bytes[b];
  });
  std::size_t current = 1;
  for (const std::size_t c : order) {
    bool placed = false;
    for (std::size_t tried = 0; tried + 1 < room.size() && !placed; ++tried) {
      const std::size_t device = 1 + (current - 1 + tried) % (room.size() - 1);
      placed = place(c, device);
      if (placed) current = device;
    }
    if (!placed && !place(c, 0)) return std::nullopt;
  }
  return on;
}

std::vector<std::vector<DeviceSet>> CostSearcher::starts() {
  std::vector<std::vector<DeviceSet>> starts;
  const bool many = problem_.base.nodes.size() > kManyNodes;
  const auto add = [&](std::optional<std::vector<DeviceSet>> start) {
    if (start && fits(problem_, classes_, *start)) starts.push_back(*std::move(start));
  };
  add(cheapest());
  const std::size_t single = many && !starts.empty() ? 0 : equal_ ? 1 : problem_.accelerators.size();
  for (std::size_t i = 0; i < single; ++i) add(with_one(i));
  bool limited = starts.empty();
  for (const auto& accelerator : problem_.accelerators) limited |= accelerator.memory_bytes > 0;
  if (limited) add(filled());
  return starts;
}

/// Copies that only cost: those that no reader on their device needs. All of them are dropped if that is cheaper, and else none.
void CostSearcher::drop_copies(Candidate& candidate) const {
  const auto several = [](DeviceSet set) { return set.count() > 1; };
  if (std::none_of(candidate.on.begin(), candidate.on.end(), several)) return;
  std::vector<DeviceSet> live(candidate.on.size());
  std::vector<std::size_t> reached;
  std::vector<std::vector<std::size_t>> producers(candidate.on.size());
  for (const auto& use : problem_.base.uses)
    producers[classes_.class_of[use.node]].push_back(static_cast<std::size_t>(classes_.class_of[problem_.base.values[use.value].node]));
  for (std::size_t c = 0; c < live.size(); ++c) {
    if (several(candidate.on[c])) continue;
    live[c] = candidate.on[c];
    reached.push_back(c);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::size_t c = reached[next];
    for (const std::size_t producer : producers[c]) {
      const DeviceSet more = (candidate.on[producer] & live[c]).without(live[producer]);
      if (more.empty()) continue;
      live[producer] = live[producer] | more;
      reached.push_back(producer);
    }
  }
  for (std::size_t c = 0; c < live.size(); ++c)
    if (live[c].empty()) live[c] = DeviceSet::only(candidate.on[c].lowest());
  if (live == candidate.on) return;
  const double cost = seconds(live);
  if (cost <= candidate.seconds) candidate = {std::move(live), cost};
}

/// Whether the move is accepted: if it lowers the cost.
bool CostSearcher::accept(const MoveOptions& options, Candidate& candidate) {
  const std::vector<std::int32_t> free = options.free_classes();
  if (free.empty()) return false;
  MoveChoice choice = best_move(problem_, classes_, uses_, options);
  work_ += choice.work + static_cast<double>(free.size());
  if (choice.on == candidate.on || !fits(problem_, classes_, choice.on)) return false;
  Candidate next{std::move(choice.on), 0};
  if (problem_.base.savings.empty()) {
    next.seconds = candidate.seconds + changeable_cost(problem_, classes_, uses_, free, next.on) -
                   changeable_cost(problem_, classes_, uses_, free, candidate.on);
  } else {
    next.seconds = seconds(next.on);
  }
  if (!(next.seconds < candidate.seconds * (1 - 1e-12))) return false;
  drop_copies(next);
  candidate = std::move(next);
  return true;
}

/// The classes near those that changed after move number `since`: what is further away was already offered this move in vain.
std::vector<std::uint8_t> CostSearcher::near_changes(const std::vector<std::int64_t>& changed, std::int64_t since) const {
  constexpr int kHops = 2;
  std::vector<std::uint8_t> near(classes_.size());
  std::vector<std::int32_t> reached;
  for (std::size_t c = 0; c < near.size(); ++c) {
    if (changed[c] <= since) continue;
    near[c] = 1;
    reached.push_back(static_cast<std::int32_t>(c));
  }
  std::size_t begin = 0;
  for (int hop = 0; hop < kHops; ++hop) {
    const std::size_t end = reached.size();
    for (; begin < end; ++begin) {
      for (const std::int32_t v : classes_.values[reached[begin]]) {
        const auto visit = [&](std::int32_t node) {
          const std::int32_t c = classes_.class_of[node];
          if (near[c]) return;
          near[c] = 1;
          reached.push_back(c);
        };
        visit(problem_.base.values[v].node);
        for (std::int32_t i = uses_.start[v]; i < uses_.start[v + 1]; ++i) visit(problem_.base.uses[uses_.order[i]].node);
      }
    }
  }
  return near;
}

void CostSearcher::improve(Candidate& candidate) {
  struct Move {
    std::size_t a = 0, b = 0;  ///< a swap; an expansion to `a` if they are equal
    std::int64_t tried = -1;   ///< the number of the last try
  };
  std::vector<Move> moves;
  for (std::size_t device = problem_.devices(); device-- > 0;) moves.push_back({device, device});
  const std::size_t expansions = moves.size();
  for (std::size_t a = 0; a < problem_.devices(); ++a)
    for (std::size_t b = a + 1; b < problem_.devices(); ++b) moves.push_back({a, b});
  std::vector<std::int64_t> changed(classes_.size(), 0);
  std::int64_t number = 0;
  const auto round = [&](std::size_t begin, std::size_t end) {
    bool any = false;
    for (std::size_t i = begin; i < end && !out_of_work(); ++i) {
      Move& move = moves[i];
      const std::vector<std::uint8_t> movable = near_changes(changed, move.tried);
      move.tried = ++number;
      const std::vector<DeviceSet> before = candidate.on;
      const MoveOptions options =
          move.a == move.b ? expansion(classes_, before, move.a, &movable) : swap_devices(classes_, before, move.a, move.b, &movable);
      if (!accept(options, candidate)) continue;
      any = true;
      for (std::size_t c = 0; c < before.size(); ++c)
        if (before[c] != candidate.on[c]) changed[c] = number;
    }
    return any;
  };
  // Expansions are repeated while they help; then swaps follow, and if one helps, expansions again.
  do {
    while (round(0, expansions)) {
    }
  } while (round(expansions, moves.size()));
}

/// Moves single classes of the best placement to other devices, and searches from there.
void CostSearcher::kick() {
  std::uint64_t random = 0x9e3779b97f4a7c15u;
  const auto draw = [&](std::size_t below) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<std::size_t>(random % below);
  };
  const auto tries = static_cast<std::int64_t>(
      std::min<double>(static_cast<double>(options_.kicks), 2e6 / (1 + std::pow(static_cast<double>(classes_.size()), 2))));
  for (std::int64_t count = 0; count < tries && !out_of_work(); ++count) {
    Candidate tried = best_;
    for (std::size_t moved = 1 + draw(3); moved-- > 0;) {
      const std::size_t c = draw(classes_.size());
      std::size_t skip = draw(static_cast<std::size_t>(classes_.allowed[c].count()));
      for_each_device(classes_.allowed[c], [&](std::size_t device) {
        if (skip-- == 0) tried.on[c] = DeviceSet::only(device);
      });
    }
    if (tried.on == best_.on || !fits(problem_, classes_, tried.on)) continue;
    tried.seconds = seconds(tried.on);
    improve(tried);
    remember(tried);
  }
}

std::optional<Candidate> CostSearcher::run(double bound) {
  for (std::vector<DeviceSet>& start : starts()) {
    Candidate candidate{std::move(start), 0};
    candidate.seconds = seconds(candidate.on);
    remember(candidate);
    if (optimal(bound)) return best_;
    improve(candidate);
    remember(candidate);
    if (optimal(bound)) return best_;
  }
  if (best_.on.empty()) return std::nullopt;
  kick();
  return best_;
}

}  // namespace

PlacementProblem merged_accelerators(const DeviceProblem& problem) {
  PlacementProblem merged = problem.base;
  merged.accelerator_memory_bytes = 0;
  bool limited = true;
  for (const auto& accelerator : problem.accelerators) {
    limited &= accelerator.memory_bytes > 0;
    merged.accelerator_memory_bytes += accelerator.memory_bytes;
  }
  if (!limited) merged.accelerator_memory_bytes = 0;
  for (auto& region : merged.regions) region.driver = PlacementProblem::kNoDriver;
  for (std::size_t i = 0; i < merged.nodes.size(); ++i) {
    double least = DeviceProblem::kNever;
    for (std::size_t device = 1; device < problem.devices(); ++device) least = std::min(least, problem.seconds(i, device));
    if (least == DeviceProblem::kNever) {
      merged.nodes[i].pin = PlacementProblem::Pin::host;
    } else {
      merged.nodes[i].accelerator_seconds = least;
    }
  }
  for (std::size_t v = 0; v < merged.values.size(); ++v) {
    double there = DeviceProblem::kNever, back = DeviceProblem::kNever;
    for (std::size_t device = 1; device < problem.devices(); ++device) {
      there = std::min(there, problem.from_host_seconds(v, device));
      back = std::min(back, problem.to_host_seconds(v, device));
    }
    merged.values[v].host_to_accelerator_seconds = there;
    merged.values[v].accelerator_to_host_seconds = back;
  }
  return merged;
}

Result<PlacedDevices> place_by_cost(const DeviceProblem& problem, const CostSearch& options) {
  return detail::guard_memory([&]() -> Result<PlacedDevices> {
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = verify(problem); !status) return status.error();
    const Result<DeviceClasses> classes = device_classes(problem);
    if (!classes) return classes.error();
    if (Status status = check_memory(problem, *classes); !status) return status.error();
    const Result<Placement> merged = solve(merged_accelerators(problem), {.max_branches = 200, .max_work = 1e8});
    if (!merged) return merged.error();
    const UsesByValue uses(problem.base);
    const std::optional<Candidate> best = CostSearcher(problem, *classes, uses, options).run(merged->bound_seconds);
    if (!best) return Error{"no way was found to fit what must be on accelerators into their memories"};
    PlacedDevices placed = evaluate_devices(problem, classes->per_node(best->on));
    placed.bound_seconds = std::min(merged->bound_seconds, placed.objective_seconds);
    set_gap(placed);
    placed.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return placed;
  });
}

}  // namespace cleave::planner
