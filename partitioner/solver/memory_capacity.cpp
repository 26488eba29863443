// The sink side shrinks as the price per byte grows: a vertex on the host at a low price stays there at a higher one. So between a solution
// that is too heavy (low price) and one that fits (high price) only the vertices on which they differ are open. Their lines, cost plus
// price times weight, intersect at the next price to try. If that price gives no new solution, no price gives a better bound. The remaining
// gap is closed by branching on vertices.
#include "partitioner/solver/memory_capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "graph/base/check.h"
#include "partitioner/flow/shrink.h"
#include "partitioner/solver/subset_sum.h"

namespace cleave::planner {
namespace {

constexpr int kRootAgain = -1;
constexpr std::int64_t kLargestCapacity = std::int64_t{1} << 62;

struct Solution {
  std::vector<bool> source_side;
  std::int64_t cost = 0;  ///< cost without the price of its weight
  double weight = 0;
};

/// A node of the search tree: the problem with some vertices decided.
struct Branch {
  std::vector<Decided> decided;
  double usable = 0;  ///< bound on the part of the capacity that any choice of the open vertices uses
  double bound = 0;
  double price = -1;  ///< the parent's best price, as a start; negative: none yet
  int number = 0;
  bool operator<(const Branch& other) const {
    return bound != other.bound ? bound > other.bound : number > other.number;
  }  // least bound first
};

class Search {
 public:
  Search(const CutNetwork& network, const std::vector<double>& weights, double unavoidable, double capacity, const CapacityOptions& options)
      : network_(network), weights_(weights), unavoidable_(unavoidable), capacity_(capacity), options_(options) {}

  std::optional<CapacityCut> run();

 private:
  struct Prices {
    Solution heavy, fitting;
    double bound = 0, price = 0;
    bool closed = false;  ///< no descendant of this branch can be better
  };

  Solution solve(const std::vector<Decided>& decided, double usable, double price, double& value);
  [[nodiscard]] double usable(const std::vector<Decided>& decided) const;
  Solution lightest(std::vector<Decided> decided);
  Prices find_price(const Branch& branch);
  void intersect(const Branch& branch, Prices& prices);
  void remember(const Solution& solution);
  [[nodiscard]] bool hopeless(double bound) const { return best_ && bound >= static_cast<double>(best_->cost) * (1 - options_.tolerance); }
  bool decide_by_price(Branch& branch, const Prices& prices);
  [[nodiscard]] std::int32_t branching_vertex(const Branch& branch, const Prices& prices) const;
  void plunge(Branch branch, bool deep);
  void dive(Branch& branch);

  const CutNetwork& network_;
  const std::vector<double>& weights_;
  const double unavoidable_, capacity_;
  const CapacityOptions& options_;
  std::optional<Solution> best_;
  std::priority_queue<Branch> open_;
  double pruned_ = std::numeric_limits<double>::infinity();  ///< the least bound of all discarded branches
  bool pieces_matter_ = true;  ///< whether weights are so coarse that no choice of them uses the whole capacity
  int branches_ = 0;
  double work_ = 0;
};

/// The cheapest cut at a price. `value` is the lower bound that it gives on cuts within the capacity: its cost with prices, less the price
/// of the usable capacity.
Solution Search::solve(const std::vector<Decided>& decided, double usable, double price, double& value) {
  ShrunkNetwork small = shrink(network_, decided);
  for (std::size_t i = 0; i < small.vertex.size(); ++i) {
    // Rounded down, so that the prices of vertices that fit never add up to more than the price of the capacity.
    const double toll = std::floor(price * weights_[small.vertex[i]]);
    std::int64_t& source = small.network.source_capacity[i];
    source = toll >= static_cast<double>(kLargestCapacity - source) ? kLargestCapacity : source + static_cast<std::int64_t>(toll);
  }
  const std::size_t touched = small.vertex.size() + small.network.arcs.size() + network_.arcs.size() / 4;
  work_ += static_cast<double>(touched);
  const Cut cut = min_cut(small.network, options_.solver);
  Solution solution;
  solution.source_side.resize(decided.size());
  for (std::size_t v = 0; v < decided.size(); ++v) solution.source_side[v] = decided[v] == Decided::source;
  solution.weight = unavoidable_;
  std::int64_t tolls = 0;
  double decided_tolls = 0;
  for (std::size_t i = 0; i < small.vertex.size(); ++i) {
    const std::int32_t v = small.vertex[i];
    solution.source_side[v] = cut.source_side[i];
    if (!cut.source_side[i])
      tolls += small.network.source_capacity[i] == kLargestCapacity ? 0 : static_cast<std::int64_t>(std::floor(price * weights_[v]));
  }
  for (std::size_t v = 0; v < decided.size(); ++v) {
    if (solution.source_side[v]) continue;
    solution.weight += weights_[v];
    if (decided[v] == Decided::sink) decided_tolls += price * weights_[v];
  }
  solution.cost = cut.value + small.constant - tolls;
  value = static_cast<double>(cut.value + small.constant) + decided_tolls - price * (usable - unavoidable_);
  // A bound must survive the rounding of large prices.
  value -= 1e-15 * (price * capacity_ + static_cast<double>(cut.value + small.constant));
  return solution;
}

double Search::usable(const std::vector<Decided>& decided) const {
  if (!pieces_matter_) return capacity_;
  double used = unavoidable_, heaviest = 0;
  std::vector<double> open;
  for (std::size_t v = 0; v < decided.size(); ++v) {
    if (decided[v] == Decided::sink) used += weights_[v];
    if (decided[v] != Decided::open || weights_[v] <= 0) continue;
    open.push_back(weights_[v]);
    heaviest = std::max(heaviest, weights_[v]);
  }
  if (heaviest < capacity_ * options_.tolerance) return capacity_;  // the capacity that such weights leave unused is negligible
  return used > capacity_ ? capacity_ : used + largest_sum_within(std::move(open), capacity_ - used);
}

/// The lightest solution: the cheapest cut with every open vertex of positive weight on the source's side.
Solution Search::lightest(std::vector<Decided> decided) {
  for (std::size_t v = 0; v < decided.size(); ++v) {
    if (decided[v] == Decided::open && weights_[v] > 0) decided[v] = Decided::source;
  }
  double value = 0;
  return solve(decided, capacity_, 0, value);
}

void Search::remember(const Solution& solution) {
  if (solution.weight <= capacity_ && (!best_ || solution.cost < best_->cost)) best_ = solution;
}

Search::Prices Search::find_price(const Branch& branch) {
  Prices prices;
  prices.bound = branch.bound;
  bool have_heavy = false, have_fitting = false;
  for (const double price : {branch.price, 0.0}) {  // the parent's price first: it tells whether the best price is above or below
    if (price < 0 || have_heavy) continue;
    double value = 0;
    Solution solution = solve(branch.decided, branch.usable, price, value);
    remember(solution);
    prices.bound = std::max(prices.bound, value);
    if (solution.weight > capacity_) {
      prices.heavy = std::move(solution);
      have_heavy = true;
    } else {
      if (price == 0) prices.bound = std::max(prices.bound, static_cast<double>(solution.cost));
      prices.closed = price == 0 || hopeless(prices.bound);
      prices.fitting = std::move(solution);
      have_fitting = true;
    }
    if (prices.closed) return prices;
  }
  if (!have_fitting) {
    prices.fitting = lightest(branch.decided);
    remember(prices.fitting);
    prices.closed = prices.fitting.weight > capacity_;
    if (prices.closed) prices.bound = std::numeric_limits<double>::infinity();
  }
  if (!prices.closed) intersect(branch, prices);
  return prices;
}

void Search::intersect(const Branch& branch, Prices& prices) {
  std::vector<Decided> decided = branch.decided;
  for (int step = 0; step < 40 && work_ < options_.max_work; ++step) {
    if (hopeless(prices.bound)) break;
    const double price =
        std::max(0.0, static_cast<double>(prices.fitting.cost - prices.heavy.cost) / (prices.heavy.weight - prices.fitting.weight));
    const double on_line = static_cast<double>(prices.heavy.cost) + price * (prices.heavy.weight - branch.usable);
    prices.price = price;
    for (std::size_t v = 0; v < decided.size(); ++v) {
      if (decided[v] != Decided::open) continue;
      if (prices.heavy.source_side[v]) decided[v] = Decided::source;
      if (!prices.fitting.source_side[v]) decided[v] = Decided::sink;
    }
    double value = 0;
    Solution solution = solve(decided, branch.usable, price, value);
    remember(solution);
    prices.bound = std::max(prices.bound, value);
    const bool new_line = value < on_line - 1e-9 * std::abs(on_line) - static_cast<double>(decided.size());
    if (!new_line) break;
    (solution.weight > capacity_ ? prices.heavy : prices.fitting) = std::move(solution);
  }
  prices.closed = hopeless(prices.bound);
}

/// Decides vertices that both solutions put on the same side, if putting one of them on the other side costs more than the best known cut.
bool Search::decide_by_price(Branch& branch, const Prices& prices) {
  const double most_work = work_ + options_.max_work / 10;
  bool any = false;
  for (std::size_t v = 0; v < weights_.size() && work_ < most_work; ++v) {
    const bool host = prices.heavy.source_side[v];
    if (weights_[v] <= 0 || branch.decided[v] != Decided::open || host != prices.fitting.source_side[v]) continue;
    std::vector<Decided> tried = branch.decided;
    tried[v] = host ? Decided::sink : Decided::source;
    double value = 0;
    remember(solve(tried, branch.usable, prices.price, value));
    if (!hopeless(value)) continue;
    pruned_ = std::min(pruned_, value);
    branch.decided[v] = host ? Decided::source : Decided::sink;
    any = true;
  }
  if (any) branch.usable = usable(branch.decided);
  return any;
}

/// The heaviest vertex on which the two solutions differ.
std::int32_t Search::branching_vertex(const Branch& branch, const Prices& prices) const {
  std::int32_t chosen = -1;
  for (std::size_t v = 0; v < weights_.size(); ++v) {
    if (branch.decided[v] != Decided::open || prices.heavy.source_side[v] == prices.fitting.source_side[v]) continue;
    if (weights_[v] > 0 && (chosen < 0 || weights_[v] > weights_[chosen])) chosen = static_cast<std::int32_t>(v);
  }
  CLEAVE_CHECK(chosen >= 0, "a solution that fits and one that does not are the same");
  return chosen;
}

/// Processes one branch. If `deep`, it continues with the child that puts more on the accelerator, down to a leaf, which finds good cuts
/// early.
void Search::plunge(Branch branch, bool deep) {
  for (;;) {
    Prices prices = find_price(branch);
    for (int round = 0; round < 3 && branch.number == kRootAgain && !prices.closed && decide_by_price(branch, prices); ++round) {
      branch.price = prices.price;
      prices = find_price(branch);
    }
    if (prices.closed) {
      pruned_ = std::min(pruned_, prices.bound);
      return;
    }
    if (branch.number == kRootAgain) pieces_matter_ = branch.usable < capacity_ * (1 - 1e-6);
    const std::int32_t vertex = branching_vertex(branch, prices);
    branches_ += 2;
    branch.bound = prices.bound;
    branch.price = prices.price;
    Branch other = branch;
    other.number = branches_;
    other.decided[vertex] = Decided::source;
    other.usable = usable(other.decided);
    open_.push(std::move(other));
    branch.number = branches_ + 1;
    branch.decided[vertex] = Decided::sink;
    branch.usable = usable(branch.decided);
    if (!deep || work_ >= options_.max_work) break;
  }
  open_.push(std::move(branch));
}

/// A fast heuristic for a good cut, outside the search tree: gives half of the capacity that the price leaves unused to vertices on which
/// the two solutions differ, in the order of vertices, and finds the price again. Needed where many weights are equal, since no price
/// distinguishes them. Bounds that the first price proves hold for the branch, which keeps them.
void Search::dive(Branch& branch) {
  const double most_work = work_ + options_.max_work / 2;
  Branch tried = branch;
  for (int step = 0; step < 40 && work_ < most_work; ++step) {
    const Prices prices = find_price(tried);
    if (step == 0) {
      branch.bound = prices.bound;
      branch.price = prices.price;
    }
    if (prices.closed || hopeless(branch.bound)) return;
    const double room = (capacity_ - prices.fitting.weight) / 2;
    double given = 0;
    for (std::size_t v = 0; v < weights_.size() && given < room; ++v) {
      if (tried.decided[v] != Decided::open || prices.heavy.source_side[v] == prices.fitting.source_side[v]) continue;
      const double sum = given + weights_[v];
      if (weights_[v] <= 0 || prices.fitting.weight + sum > capacity_ || (given > 0 && sum > room)) continue;
      tried.decided[v] = Decided::sink;
      given = sum;
    }
    if (given == 0) return;
    tried.price = prices.price;
  }
}

std::optional<CapacityCut> Search::run() {
  Branch root;
  root.decided.assign(weights_.size(), Decided::open);
  for (std::size_t v = 0; v < weights_.size(); ++v) {
    if (weights_[v] > capacity_ - unavoidable_) root.decided[v] = Decided::source;
  }
  root.usable = usable(root.decided);
  root.bound = -1;
  dive(root);
  if (hopeless(root.bound)) {
    pruned_ = root.bound;
  } else {
    plunge(root, true);
  }
  if (!best_) return std::nullopt;
  if (!open_.empty()) {  // process the root once more: a good cut now lets more vertices be decided
    open_ = {};
    pruned_ = std::numeric_limits<double>::infinity();
    root.number = kRootAgain;
    plunge(std::move(root), false);
  }
  for (int count = 1; !open_.empty() && branches_ < options_.max_branches && work_ < options_.max_work; ++count) {
    if (hopeless(open_.top().bound)) break;  // no other open branch has a smaller bound
    Branch branch = open_.top();
    open_.pop();
    plunge(std::move(branch), count % 16 == 0);
  }
  double bound = std::min(pruned_, static_cast<double>(best_->cost));
  if (!open_.empty()) bound = std::min(bound, open_.top().bound);
  return CapacityCut{std::move(best_->source_side), best_->cost, std::max(bound, 0.0)};
}

}  // namespace

std::optional<CapacityCut> cut_within_capacity(const CutNetwork& network, const std::vector<double>& weights, double unavoidable,
                                               double capacity, const CapacityOptions& options) {
  return Search(network, weights, unavoidable, capacity, options).run();
}

}  // namespace cleave::planner
